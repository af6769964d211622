"""Counted tables, in which only updates create keys, as in DeepRec's EmbeddingVariable."""
