"""Multinomial logistic regression, cross-fitted, with the strength of its ridge chosen on held-out rows."""
