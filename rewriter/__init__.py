"""Graph rewriting: tables of the runtime for variables of a v1 graph. Knows graphs, not source and not reports."""

from __future__ import annotations

from rewriter.hook import GraphModifierHook
from rewriter.moving import rewrite

__all__ = ["GraphModifierHook", "rewrite"]
