"""The grid of cells: what is run, where it is run, and what came of it."""
