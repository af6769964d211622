"""Programs written for SparseOperationKit: their variables become tables of the runtime, their ranks its ranks.

A file is converted whole or not at all, because half of it would run nowhere. `tables` asks the value flow where the
variables go, the other modules put edits into a `Draft` piece by piece, and `judge` says what becomes of it.
"""
