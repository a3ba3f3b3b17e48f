"""One file per command: its options, and the few steps from them to an answer."""
