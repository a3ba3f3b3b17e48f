"""One tree: its arrays, how it is grown, pruned, walked, drawn, and what can be learned from rows it has not seen."""
