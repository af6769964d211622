"""The front end of Paddle: converts `x·W + b` of one-hot columns to dynamic tables and rewrites the whole module."""
