"""Compares a TensorFlow training program with its converted form, on the same weights and recorded batches."""
