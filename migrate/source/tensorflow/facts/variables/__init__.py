"""Which variables and feature columns are tables: creation, lookups, initial values, names, partitions."""
