"""Which variables of a graph can become tables, which already did, and which of them Savers save or restore."""
