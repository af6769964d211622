"""Counted tables, which only updates change: DeepRec's EmbeddingVariable."""
