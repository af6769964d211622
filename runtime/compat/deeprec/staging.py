"""DeepRec's prefetching of batches, `tf.staged`, and marks for its graph optimizations, without effect on results."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import tensorflow as tf

__all__ = ["make_prefetch_hook", "mark_target_node", "prefetch_join", "staged"]

v1: Any = tf.compat.v1


def staged(
    features: Any,
    feed_dict: Any = None,
    capacity: int = 1,
    num_threads: int = 1,
    num_clients: int = 1,
    timeout_millis: int = 300000,
    closed_exception_types: Any = (tf.errors.OUT_OF_RANGE,),
    ignored_exception_types: Any = (),
    use_stage_subgraph_thread_pool: bool = False,
    stage_subgraph_thread_pool_id: int = 0,
    stage_subgraph_stream_id: int = 0,
    name: str | None = None,
    feed_generator: Any = None,
) -> Any:
    """Return `features`, which each step computes itself; use `Dataset.prefetch` to read ahead.

    Raises:
        ValueError: there is fewer than one thread, or an argument that feeds placeholders or ignores errors.
    """
    del capacity, num_clients, timeout_millis, closed_exception_types, name
    del use_stage_subgraph_thread_pool, stage_subgraph_thread_pool_id, stage_subgraph_stream_id
    if num_threads < 1:
        raise ValueError(f"num_threads {num_threads!r} of tf.staged must be 1 or more")
    refused = {"feed_dict": feed_dict, "feed_generator": feed_generator}
    for argument, value in refused.items():
        if value:
            raise ValueError(
                f"`{argument}` of tf.staged is not supported: read its data by a tf.data.Dataset "
                "(from_generator takes a Python generator)"
            )
    if ignored_exception_types:
        raise ValueError("`ignored_exception_types` of tf.staged is not supported: use Dataset.ignore_errors()")
    return features


def prefetch_join(thread_to_features: Sequence[Any], *settings: Any, **named: Any) -> NoReturn:
    """Refuse it.

    Raises:
        ValueError: always.
    """
    del settings, named
    raise ValueError(
        f"tf.prefetch_join of {len(thread_to_features)} sources is not supported: join them by "
        "tf.data.Dataset.sample_from_datasets"
    )


class _Hook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Does nothing, because `staged` starts no threads."""


def make_prefetch_hook() -> Any:
    """Return a hook that does nothing, because `staged` starts no threads."""
    return _Hook()


def mark_target_node(nodes: Any) -> None:
    """Do nothing: the marks are for a graph optimization of DeepRec that changes no result."""
    del nodes
