"""Which variables and feature columns are tables: creations, lookups, initial values, names, partitions."""
