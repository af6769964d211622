"""Conversion from end to end: one file, many files, processes, the cache, the summary."""
