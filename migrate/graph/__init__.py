"""Rewriting graphs in files: what `migrate graph SRC DST` does."""
