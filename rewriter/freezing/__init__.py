"""Replaces the tables of a SavedModel by variables and stock ops, so that any TensorFlow loads it.

`freeze.py` does it from end to end: it takes lookups out of functions, `restores.py` and `sources.py` find the rows in
the checkpoint, `frozen_table.py` builds a table of stock ops and `lookups.py` what reads it, and `freeze.py` the graph
that is left.
"""
