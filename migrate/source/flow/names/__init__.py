"""Names: what binds them, and which assignments a use may read."""
