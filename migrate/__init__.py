"""Moves recommendation models to dynamic embedding tables: `migrate convert`, `verify`, `report`, `dataset`."""

__version__ = "0.2.0"
