"""Builds a feature map, TFRecords and a schema for `migrate convert` from raw data files."""
