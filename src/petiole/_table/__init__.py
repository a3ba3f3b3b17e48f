"""Reads tables: columns as numbers, labels as codes, weights in rows. One encoder serves fit and prediction."""
