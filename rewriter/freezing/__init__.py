"""Replaces the tables of a SavedModel by variables and stock ops, so that any TensorFlow loads it.

`freeze.py` does it from end to end: `inlined.py` takes lookups out of functions, `restores.py` and `sources.py` find
the rows in the checkpoint, `frozen_table.py` builds a table of stock ops, `lookups.py` and `pooling.py` what reads it,
`result.py` the graph that is left.
"""
