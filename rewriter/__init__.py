"""Graph rewriter: replaces embedding variables of a v1 graph with dynamic tables of the runtime.

Exported names are imported lazily, so that regions and drawings, which reports need, do not load TensorFlow.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rewriter.hook import GraphModifierHook, modify_graph_and_start_emb_cache
    from rewriter.installation import install
    from rewriter.pipeline import get_initializer, get_target_batch, move_ids
    from rewriter.proof import prove
    from rewriter.rewrite_graph import rewrite
    from rewriter.slicer_hooks import LookupSubgraphSlicerHook, OrphanLookupKeySlicerHook

__all__ = [
    "GraphModifierHook",
    "LookupSubgraphSlicerHook",
    "OrphanLookupKeySlicerHook",
    "get_initializer",
    "get_target_batch",
    "install",
    "modify_graph_and_start_emb_cache",
    "move_ids",
    "prove",
    "rewrite",
]

#: Module that defines each exported name.
_HOMES = {
    "GraphModifierHook": "rewriter.hook",
    "LookupSubgraphSlicerHook": "rewriter.slicer_hooks",
    "OrphanLookupKeySlicerHook": "rewriter.slicer_hooks",
    "get_initializer": "rewriter.pipeline",
    "get_target_batch": "rewriter.pipeline",
    "install": "rewriter.installation",
    "modify_graph_and_start_emb_cache": "rewriter.hook",
    "move_ids": "rewriter.pipeline",
    "prove": "rewriter.proof",
    "rewrite": "rewriter.rewrite_graph",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    importlib.import_module("runtime")  # says what to install where TensorFlow is missing
    return getattr(importlib.import_module(_HOMES[name]), name)
