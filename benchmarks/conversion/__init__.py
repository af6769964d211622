"""Time of conversions: of source, of graphs, of data."""
