"""Converts checkpoints of the original model for the converted one."""
