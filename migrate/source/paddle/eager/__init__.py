"""Eager Paddle programs: they stay as they are, and the line that lets them run on tables is written."""
