"""Rewrites the files of a Paddle model from what their execution recorded."""
