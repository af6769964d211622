"""Optimizers: their classes, factories and values, and what they train."""
