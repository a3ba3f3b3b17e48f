"""Boosted trees: plans, chains of trees that add up to scores, and cross-fitting."""
