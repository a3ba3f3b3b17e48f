"""Pages about results: their building blocks, and the summary of all papers."""
