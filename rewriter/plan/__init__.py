"""The plan as data: edges to change, with the rule and the line behind each, and the region around each table."""
