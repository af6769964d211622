"""Draws what a rewrite did around a table, as SVG. Needs no TensorFlow."""

from rewriter.drawing.svg import draw

__all__ = ["draw"]
