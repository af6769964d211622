"""A table in TensorFlow: its arguments, anchor, resource and control dependencies."""
