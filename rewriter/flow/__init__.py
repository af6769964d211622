"""Follows the value of a variable through a graph and its functions, and finds where rows of it are selected."""

from __future__ import annotations

from rewriter.flow.picks import PICKS, PRODUCTS, Pick, Picks

__all__ = ["PICKS", "PRODUCTS", "Pick", "Picks"]
