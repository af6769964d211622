"""Rec SDK's slicer hooks as thin wrappers of `move_ids`; they may come before or after GraphModifierHook."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from rewriter.pipeline import PipelinePlan, move_ids

_log = logging.getLogger("rewriter")


class LookupSubgraphSlicerHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Lets datasets compute ids that depend on ops of given types; GraphModifierHook moves all ids that can move."""

    def __init__(self, op_types: list[str]) -> None:
        """Take op types, such as `["StringToNumber"]`.

        Raises:
            ValueError: `op_types` is not a list of op types, or it is empty.
        """
        if not isinstance(op_types, list) or not op_types or not all(isinstance(one, str) and one for one in op_types):
            raise ValueError(
                f"`op_types` of LookupSubgraphSlicerHook must be a list of op types such as ['StringToNumber'], "
                f"got {op_types!r}"
            )
        self._op_types = list(op_types)
        #: The plan that was applied to the datasets of the last session's graph.
        self.pipeline = PipelinePlan()

    def begin(self) -> None:
        """Move the ids in the current graph, which must not be finalized."""
        self.pipeline = move_ids(op_types=self._op_types)
        for line in self.pipeline.summary().splitlines():
            _log.info("%s", line)

    def before_run(self, run_context: Any) -> None:
        """Refuse feeds of tensors that moved ids are computed from.

        Raises:
            ValueError: such a tensor is fed; the message names it.
        """
        self.pipeline.require_unfed(run_context.original_args.feed_dict)


class OrphanLookupKeySlicerHook(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Accepts lookups whose ids come from no dataset. Tables look these up in the graph, so it changes nothing."""

    def begin(self) -> None:
        """Log that there is nothing to do."""
        _log.info("OrphanLookupKeySlicerHook changes nothing: ids that come from no dataset are looked up in the graph")
