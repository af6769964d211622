"""Marks entries of a batch as ids of a table: `FeatureSpec`, and the functions that register it."""
