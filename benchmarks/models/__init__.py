"""Whole models with real layer sizes, in variables of TensorFlow and moved to tables: `python -m benchmarks.models`."""
