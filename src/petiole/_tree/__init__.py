"""One tree: its arrays, growth, pruning, routing, drawing, and held-out rows."""
