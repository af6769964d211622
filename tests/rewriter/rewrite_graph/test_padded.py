"""Lookups of `tf.concat([tf.zeros([1, dim]), W[1:]], 0)`: an id of the pad gives zeros and trains nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, assert_same, loss_of, step_after, variable

v1 = tf.compat.v1
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
}
Padding = Callable[[Any], Any]
_PADDINGS: dict[str, Padding] = {
    "rows": lambda table: tf.concat([tf.zeros([1, DIM]), table[1:]], 0),
    "rows and columns": lambda table: tf.concat((tf.zeros(shape=[1, DIM]), table[1:, :]), 0),
    "before": lambda table: tf.concat([tf.zeros([2, DIM]), table], 0),
    "behind": lambda table: tf.concat([table, tf.zeros([3, DIM])], 0),
    "around": lambda table: tf.concat([tf.zeros([1, DIM]), table[2:], tf.zeros([5, DIM])], 0),
    "three": lambda table: tf.concat([tf.zeros([3, DIM]), table[3:, :DIM]], 0),
}


def _model(
    padding: Padding,
    optimizer: str = "adagrad",
    use_resource: bool = True,
    more: Callable[[Any, Any, Any], Any] | None = None,
    term: Callable[[Any], Any] | None = None,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, ids = variable(use_resource=use_resource), features["ids"]
        whole = padding(table)
        rows = [tf.reshape(v1.nn.embedding_lookup(whole, one), [-1, 3 * DIM]) for one in (ids, ids // 2)]
        if more:
            rows.append(more(table, whole, ids))
        loss = loss_of(tf.concat(rows, 1), labels) + (term(table) if term else 0.0)
        return loss, step_after(loss, _OPTIMIZERS[optimizer]())

    return build


@pytest.mark.parametrize("padding", _PADDINGS)
@pytest.mark.one_case
def test_every_form(padding: str) -> None:
    assert_same(_model(_PADDINGS[padding], "adam"), "user")


def test_the_row_of_the_pad_stays_as_it_began() -> None:
    with tf.Graph().as_default():
        table = variable()
        rows = tf.identity(v1.nn.embedding_lookup(_PADDINGS["rows"](table), v1.placeholder(tf.int64, [None], "ids")))
        own = tf.identity(v1.nn.embedding_lookup(table, tf.constant([0], tf.int64)))
        step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
        start = v1.global_variables_initializer()
        assert [one.name for one in rewrite().tables] == ["user"]
        with v1.Session() as session:
            session.run(start)
            before = session.run(own)
            for _ in range(3):
                session.run(step, {"ids:0": [0, 1, 0]})
            found = session.run(rows, {"ids:0": [0, 1]})
            assert not found[0].any()
            assert found[1].all()
            np.testing.assert_array_equal(session.run(own), before)
            assert before.any()


@pytest.mark.parametrize(
    ("padding", "more"),
    [
        (lambda table: tf.concat([tf.zeros([1, DIM]), table[::2]], 0), None),
        (_PADDINGS["rows"], lambda table, whole, ids: tf.one_hot(ids[:, 0], ROWS) @ tf.tanh(whole)),
        (_PADDINGS["rows"], lambda table, whole, ids: tf.tile(tf.reduce_sum(whole * whole)[None, None], [16, 1])),
        (_PADDINGS["rows"], lambda table, whole, ids: tf.gather_nd(whole, tf.stack([ids, ids % DIM], -1))),
    ],
    ids=["strided", "product", "sum", "elements"],
)
def test_what_is_no_padded_copy_stays(padding: Padding, more: Any) -> None:
    with tf.Graph().as_default():
        inputs = Inputs.make()
        _model(padding, more=more)(inputs.features, inputs.labels)
        plan = rewrite()
        assert not plan.tables
        assert "StridedSlice" in plan.summary() or "`strided_slice`" in plan.summary()
