"""Copies tables for tf.estimator's InMemoryEvaluatorHook, which only copies variables, by name."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import _tf_private_estimator, native
from runtime.ranks.process_group import why_not_a_part
from runtime.table.anchor import HASHTABLE_COLLECTION, GraphAnchor

_WHO = "InMemoryEvaluatorHook"


def watch() -> None:
    """Let each InMemoryEvaluatorHook evaluate the rows of the training session, if the program uses tf.estimator."""
    _tf_private_estimator.extend_in_memory_evaluators(_Rows)


class _Rows(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
    """Copies rows, slots and counts of the trained tables to the tables of an evaluation."""

    def __init__(self, training: Any, graph: tf.Graph, carried: set[str]) -> None:
        """Take the training session, the evaluation graph, and the variables that TensorFlow copies."""
        self._training, self._graph = training, graph
        self._carried = {name.removesuffix(":0") for name in carried}

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Copy all rows; the session is new, and so are its tables.

        Raises:
            ValueError: a table in one graph is a variable in the other, or its rows cannot be copied.
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
            # Rows that train on a device are older on the host, from which they are copied.
            devices = [trained[name].table.on_device for name in both]
            self._training.run([rows.copied for rows in devices if rows is not None])
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
                f"{_WHO} would evaluate initial rows of the table `{name}`, which is not a table in training: rewrite "
                "both, by GraphModifierHook in the hooks of train() or by rewriter.rewrite() in model_fn"
            )


def _tables(graph: tf.Graph) -> dict[str, GraphAnchor]:
    anchors = (one for one in graph.get_collection(HASHTABLE_COLLECTION) if isinstance(one, GraphAnchor))
    return {anchor.table.table_name: anchor for anchor in anchors}


def _is_of(variable: str, table: str) -> bool:
    """Whether a variable is the one that a table is named after, or a part of it."""
    return variable == table or variable.startswith(f"{table}/part_")


def _require_plain(anchor: GraphAnchor) -> None:
    name = anchor.table.table_name
    if type(anchor) is not GraphAnchor or why_not_a_part(name):
        raise ValueError(
            f"{_WHO} cannot copy the table `{name}`, which counts its keys, is a variable of SOK, or is "
            "distributed over several ranks: evaluate checkpoints, by tf.estimator.train_and_evaluate or "
            "estimator.evaluate"
        )


def _copy(sources: list[int], targets: list[int]) -> None:
    """Copy tables of this process to others, both given by their handles."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        ends = [v1.placeholder(tf.int64, []) for _ in range(2)]
        copied = native.ops().rec_table_import(ends[1], *native.ops().rec_table_snapshot(ends[0]))
        with v1.Session() as session:
            for pair in zip(sources, targets, strict=True):
                session.run(copied, dict(zip(ends, pair, strict=True)))
