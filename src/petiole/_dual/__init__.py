"""Dual perturb and combine: noise on queries, in closed form or drawn, and how much of it."""
