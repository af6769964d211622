"""Rows of a table on a device: their variables, what moves for a batch, and updates by TensorFlow's own ops."""
