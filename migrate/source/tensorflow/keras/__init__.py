"""Keras `Embedding` layers: they become `runtime.keras.Embedding`, which takes the same arguments.

facts → verdicts (`judge`) → edits and findings (`emit`), as for variables; but a layer is
a table and its lookups in one.
"""
