"""Data sets as the experiments read them."""
