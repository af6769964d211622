"""Programs written for DeepRec: their EmbeddingVariables become counted tables of the runtime.

A file is converted whole or not at all, because half of it would run nowhere; DeepRec's own semantics stay.
facts and edits are put together in a `Draft`, piece by piece, and `judge` says what becomes of it.
"""
