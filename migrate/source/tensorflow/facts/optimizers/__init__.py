"""Optimizers: their classes, factories, values, and the variables that they train."""
