"""Converts graph files: the work of `migrate graph SRC DST`."""
