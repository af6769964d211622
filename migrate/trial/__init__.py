"""`migrate trial`: a program as it is beside itself with tables, for some steps, and what it would gain."""
