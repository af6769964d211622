"""Paddle's functions and layers in TensorFlow's, as a table, with their values and shapes."""
