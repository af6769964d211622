"""Programs written for SparseOperationKit: their variables become tables of the runtime, their ranks its ranks.

A file is converted whole or not at all, because half of it would run nowhere. `flow` follows the variables to where
they are read, the other modules put edits into a `Draft` piece by piece, and `judge` says what becomes of it.
"""
