"""Draws the changes of a rewrite around a table as SVG, without TensorFlow."""

from rewriter.drawing.svg import draw

__all__ = ["draw"]
