"""Lookups of several ranks inside loops, branches and tf.data: detects those that cannot work, and explains why.

A whole training step inside a `tf.while_loop` or `tf.cond` works, if all ranks take the same branch and make equally
many iterations. TensorFlow cannot build the gradient of a loop or branch that exchanges rows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.engine import RanksError
from runtime.ranks.process_group import note_in_branch

#: TensorFlow's names for functions of an input pipeline, which run ahead of the step.
_PIPELINE = re.compile(r"Dataset_(map|filter|flat_map|interleave|parallel_interleave)_")


def require_own_gradient(names: Sequence[str], rows: list[tf.Tensor]) -> list[tf.Tensor]:
    """Return `rows`, looked up in the current graph from tables of these names ("" for a name that differs by rank).

    Raises:
        RanksError: ranks would make these lookups at different times. Taking their gradient outside of the loop or
            branch raises it, too.
    """
    if tf.executing_eagerly():
        return rows
    here = list(_around(tf.compat.v1.get_default_graph()))
    tables = ", ".join(f"`{name}`" for name in dict.fromkeys(names) if name) or "a table"
    if any(_PIPELINE.match(str(getattr(graph, "name", ""))) for graph in here):
        raise RanksError(
            f"a function of tf.data looks up {tables}, at times that differ between ranks: let the dataset return "
            "the ids, and look them up in the training step"
        )
    if not any(map(_tf_private.may_run_or_not, here)):
        return rows
    if any(map(_tf_private.in_loop, here)) and not _made_eagerly():
        raise RanksError(
            f"a loop of a v1 graph looks up {tables}, and its iterations run in parallel, so ranks cannot match their "
            "messages: look up the ids of all iterations before the loop"
        )
    note_in_branch(tables)
    return [_with_own_gradient(tables, here, one) for one in rows] if _made_eagerly() else rows


def _with_own_gradient(tables: str, here: list[Any], rows: tf.Tensor) -> tf.Tensor:
    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def same(rows: tf.Tensor) -> Any:
        def back(gradient: Any) -> tf.Tensor:
            there = list(_around(tf.compat.v1.get_default_graph()))
            if here[0] not in there and any(_tf_private.may_run_or_not(one) for one in there if one not in here):
                raise RanksError(
                    f"a tf.while_loop or tf.cond looks up {tables}, and its gradient is taken outside of it, which "
                    "several ranks cannot exchange: look up before it, or take the gradient inside, with the update"
                )
            return tf.convert_to_tensor(gradient)

        return tf.identity(rows), back

    checked: tf.Tensor = same(rows)
    checked.set_shape(rows.shape)
    return checked


def _around(graph: Any) -> Iterator[Any]:
    """Yield a graph and its outer graphs."""
    while graph is not None:
        yield graph
        graph = getattr(graph, "outer_graph", None)


def _made_eagerly() -> bool:
    """Whether the program runs in eager mode and the current graph is one of its functions."""
    with tf.init_scope():
        return bool(tf.executing_eagerly())
