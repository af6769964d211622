"""`migrate project`: a whole training project from a model and its feature schema."""
