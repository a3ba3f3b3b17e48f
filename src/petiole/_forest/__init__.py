"""Many trees packed in one object, counts at their leaves that add up, and the logarithmic opinion pool."""
