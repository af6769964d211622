"""Rewrites graphs in files, without running them."""

from rewriter.offline.rewriting import rewrite_graph_def, rewrite_meta_graph

__all__ = ["rewrite_graph_def", "rewrite_meta_graph"]
