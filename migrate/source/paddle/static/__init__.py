"""Static models: how they are executed, and their functions."""
