"""Programs for DeepRec: their EmbeddingVariables become counted tables of the runtime.

A file is converted completely or not at all, because a half-converted one would not run. DeepRec's semantics are kept.
The modules add edits and blockers to a `Draft`, and `convert` returns the result.
"""
