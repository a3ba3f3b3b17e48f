"""The user's table: columns read once, labels as codes, weights in rows, one encoder for fit and prediction."""
