"""Reports: the data model of what was found and done (`model`), and writers for several formats."""
