"""`migrate trace` runs a program and records what its graphs do with each variable; conversions take it as evidence."""
