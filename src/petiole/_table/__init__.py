"""The user's table: frames and columns read once, labels as codes, weights in rows, one encoder for fit and prediction."""
