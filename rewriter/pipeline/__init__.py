"""Moves the computation of ids from the graph into tf.data, so that a step finds its ids ready."""

from __future__ import annotations

from rewriter.pipeline.author import get_initializer, get_target_batch
from rewriter.pipeline.moving import move_ids
from rewriter.pipeline.plan import PipelinePlan

__all__ = ["PipelinePlan", "get_initializer", "get_target_batch", "move_ids"]
