"""Keras `Embedding` layers: they become `runtime.keras.Embedding`, which takes the same arguments.

Verdicts come first, then edits and findings, as for variables; but a layer is both a table and its lookups.
"""
