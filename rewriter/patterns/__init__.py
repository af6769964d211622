"""Patterns of lookups, updates and initializers in a graph; one kind a file."""
