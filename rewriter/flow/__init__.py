"""Where the value of a variable goes in a graph, its functions included, and whether rows are picked of it there."""

from __future__ import annotations

from rewriter.flow.picks import PICKS, Pick, Picks

__all__ = ["PICKS", "Pick", "Picks"]
