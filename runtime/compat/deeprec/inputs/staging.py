"""DeepRec's prefetching of batches: `tf.staged` and its hook.

A batch is given back as it is: each step computes its own, and `Dataset.prefetch` reads ahead.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

__all__ = ["make_prefetch_hook", "mark_target_node", "staged"]

v1: Any = tf.compat.v1
_ENDS = (tf.errors.OutOfRangeError, tf.errors.CancelledError)


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
    feed_list: Any = None,
) -> Any:
    """Return `features`, which each step computes for itself.

    Raises:
        ValueError: placeholders are to be fed by threads, or other errors than the end of the data are to end or to
            skip batches.
    """
    if feed_dict or feed_generator is not None or feed_list is not None:
        raise ValueError(
            "tf.staged feeds no placeholders: leave out feed_dict, feed_generator and feed_list, and let a tf.data "
            "dataset give the values (Dataset.from_generator for a generator)"
        )
    if _errors(ignored_exception_types) or not set(_errors(closed_exception_types)) <= set(_ENDS):
        raise ValueError(
            "tf.staged ends with the data alone: leave out closed_exception_types and ignored_exception_types "
            "(Dataset.ignore_errors skips what fails)"
        )
    return features


def _errors(given: Any) -> tuple[type[BaseException], ...]:
    """Return the classes of errors that are given as classes or as TensorFlow's codes."""
    listed = given if isinstance(given, (list, tuple)) else (given,)
    return tuple(tf.errors.exception_type_from_error_code(one) if isinstance(one, int) else one for one in listed)


def make_prefetch_hook() -> Any:
    """Return a hook that does nothing: there are no threads to start."""
    return v1.train.SessionRunHook()


def mark_target_node(nodes: Any) -> None:
    """Do nothing: the marks are for a graph optimization of DeepRec that changes no result."""
    del nodes
