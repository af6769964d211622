"""Rec SDK's slicer hooks, by their names: thin over `move_ids`, and in any order with GraphModifierHook."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from rewriter.pipeline import PipelinePlan, move_ids

__all__ = ["LookupSubgraphSlicerHook", "OrphanLookupKeySlicerHook"]

_log = logging.getLogger("rewriter")


class LookupSubgraphSlicerHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Lets datasets compute the ids of the lookups that certain ops are upstream of; GraphModifierHook moves all."""

    def __init__(self, op_types: list[str]) -> None:
        """Take types of ops, such as `StringToNumber`.

        Raises:
            ValueError: no list, an empty one, or one of something else than types.
        """
        if not isinstance(op_types, list) or not op_types or not all(isinstance(one, str) and one for one in op_types):
            raise ValueError(
                f"`op_types` of LookupSubgraphSlicerHook must be a list of types of ops such as ['StringToNumber'], "
                f"got {op_types!r}"
            )
        self._op_types = list(op_types)
        #: What was done to the datasets of the last session's graph.
        self.pipeline = PipelinePlan()

    def begin(self) -> None:
        """Move the ids in the current graph, which is not finalized yet."""
        self.pipeline = move_ids(op_types=self._op_types)
        for line in self.pipeline.summary().splitlines():
            _log.info("%s", line)

    def before_run(self, run_context: Any) -> None:
        """Refuse to feed what moved ids are computed from.

        Raises:
            ValueError: names the tensor.
        """
        self.pipeline.require_unfed(run_context.original_args.feed_dict)


class OrphanLookupKeySlicerHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Accepts ids that no dataset is behind: they need no pipeline here, so it moves nothing."""

    def begin(self) -> None:
        """Say that there is nothing to do."""
        _log.info("OrphanLookupKeySlicerHook moves nothing: ids without a dataset are looked up where they are")
