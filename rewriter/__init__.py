"""Graph rewriting: tables of the runtime for variables of a v1 graph. Knows graphs, not source and not reports."""

from __future__ import annotations

from rewriter.hook import GraphModifierHook, modify_graph_and_start_emb_cache
from rewriter.moving import rewrite
from rewriter.pipeline import move_ids

__all__ = ["GraphModifierHook", "modify_graph_and_start_emb_cache", "move_ids", "rewrite"]
