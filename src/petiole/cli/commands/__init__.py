"""One file per command: its options, and the steps from them to the output."""
