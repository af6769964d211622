"""tf.estimator's InMemoryEvaluatorHook carries variables by their names, and no rows: these are carried here."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_estimator, native
from runtime.ranks.process_group import why_not_a_part
from runtime.table.anchor import HASHTABLE_COLLECTION, GraphAnchor

__all__ = ["watch"]

_WHO = "InMemoryEvaluatorHook"


def watch() -> None:
    """Let each InMemoryEvaluatorHook evaluate the rows of the session that trains, if the program has tf.estimator."""
    _tf_private_estimator.extend_in_memory_evaluators(_Rows)


class _Rows(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Gives the tables of an evaluation the rows, slots and counts of those that are being trained."""

    def __init__(self, training: Any, graph: tf.Graph, carried: set[str]) -> None:
        """Take the session that trains, the graph that evaluates, and the variables that TensorFlow carries over."""
        self._training, self._graph = training, graph
        self._carried = {name.removesuffix(":0") for name in carried}

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Copy all rows: the session is new, and so are its tables.

        Raises:
            ValueError: what is a table on one side is none on the other, or its rows cannot be copied.
        """
        trained, read = _tables(self._training.graph), _tables(self._graph)
        for name in trained.keys() - read.keys():
            self._require_unused(name)
        for name in read.keys() - trained.keys():
            self._require_carried(name)
        both = sorted(trained.keys() & read.keys())
        for name in both:
            _require_plain(trained[name])
            _require_plain(read[name])
        if both:
            sources = self._training.run([trained[name].table.handle for name in both])
            _copy(sources, session.run([read[name].table.handle for name in both]))

    def _require_unused(self, name: str) -> None:
        if any(_is_of(one.op.name, name) for one in self._graph.get_collection("variables")):
            raise ValueError(
                f"{_WHO} would evaluate initial values of the variable `{name}`, which is a table in training: give it "
                f"hooks=[GraphModifierHook()], too, or let model_fn call rewriter.rewrite() in both modes"
            )

    def _require_carried(self, name: str) -> None:
        if not any(_is_of(one, name) for one in self._carried):
            raise ValueError(
                f"{_WHO} would evaluate initial rows of the table `{name}`, which is no table in training: move it in "
                "both, by GraphModifierHook in the hooks of train() or by rewriter.rewrite() in model_fn"
            )


def _tables(graph: tf.Graph) -> dict[str, GraphAnchor]:
    anchors = (one for one in graph.get_collection(HASHTABLE_COLLECTION) if isinstance(one, GraphAnchor))
    return {anchor.table.table_name: anchor for anchor in anchors}


def _is_of(variable: str, table: str) -> bool:
    """Whether a variable is the one that a table is called after, or a part of it."""
    return variable == table or variable.startswith(f"{table}/part_")


def _require_plain(anchor: GraphAnchor) -> None:
    name = anchor.table.table_name
    if type(anchor) is not GraphAnchor or why_not_a_part(name):
        raise ValueError(
            f"{_WHO} cannot carry the rows of `{name}` over, which has more than rows or lies on several ranks: "
            "evaluate checkpoints, by tf.estimator.train_and_evaluate or estimator.evaluate"
        )


def _copy(sources: list[int], targets: list[int]) -> None:
    """Give tables what others of this process hold, both by their handles."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        ends = [v1.placeholder(tf.int64, []) for _ in range(2)]
        copied = native.ops().rec_table_import(ends[1], *native.ops().rec_table_snapshot(ends[0]))
        with v1.Session() as session:
            for pair in zip(sources, targets, strict=True):
                session.run(copied, dict(zip(ends, pair, strict=True)))
