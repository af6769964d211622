"""Optimizers: their classes, values, and the variables that they train."""
