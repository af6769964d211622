"""Moves recommendation models to dynamic embedding tables: `migrate convert`, `verify`, `report`, `dataset`."""

__version__ = "0.1.0"
