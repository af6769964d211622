"""`migrate project`: writes a complete training project from a model and its feature schema."""
