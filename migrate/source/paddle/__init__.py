"""Paddle sources: `x·W + b` of one-hot columns becomes dynamic tables; the module is written anew."""
