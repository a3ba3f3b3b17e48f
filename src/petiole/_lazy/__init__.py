"""Lazy option trees: paths that are searched for when a query comes."""
