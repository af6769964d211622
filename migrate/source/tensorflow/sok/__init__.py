"""Programs for SparseOperationKit: their variables become tables of the runtime, their ranks its ranks.

A file is converted completely or not at all, because a half-converted one would not run. `tables` follows the variables
by the value flow, the other modules add edits and blockers to a `Draft`, and `convert` returns the result.
"""
