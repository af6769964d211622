"""Which variables of a graph can become tables, which did before, and what Savers do with them."""
