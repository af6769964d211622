"""Variables whose rows are single numbers or matrices: a table has each row as a vector."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import prove, rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, assert_same, head, step_after, variable

v1 = tf.compat.v1
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
}


def _shaped(row: tuple[int, ...], use_resource: bool, **further: Any) -> Any:
    starts = v1.random_normal_initializer(stddev=0.3)
    return v1.get_variable("bias", [ROWS, *row], initializer=starts, use_resource=use_resource, **further)


def _model(
    row: tuple[int, ...],
    use_resource: bool = True,
    optimizer: str = "adagrad",
    lookup: Callable[[Any, Any], Any] = tf.gather,
    term: Callable[[Any], Any] | None = None,
    **further: Any,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        bias, ids = _shaped(row, use_resource, **further), features["ids"]
        rows = tf.reshape(lookup(bias, ids), [-1, 3 * int(np.prod(row))])
        user = tf.reshape(v1.nn.embedding_lookup(variable(use_resource=use_resource), ids), [-1, 3 * DIM])
        hidden = tf.concat([rows, user], 1)
        if term is None:
            return head(hidden, labels, _OPTIMIZERS[optimizer]())
        weights = v1.get_variable("head", [hidden.shape[-1], 1])
        loss = tf.reduce_mean(tf.square(tf.tanh(hidden) @ weights - labels)) + term(bias)
        return loss, step_after(loss, _OPTIMIZERS[optimizer]())

    return build


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
@pytest.mark.one_case
def test_a_vector_under_every_optimizer(optimizer: str, use_resource: bool) -> None:
    assert_same(_model((), use_resource, optimizer), "bias", "user")


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("row", [(), (2, 3), (1,)], ids=str)
@pytest.mark.one_case
def test_embedding_lookup_of_any_rows(row: tuple[int, ...], use_resource: bool) -> None:
    plan = assert_same(_model(row, use_resource, "adam", v1.nn.embedding_lookup), "bias", "user")
    assert f"`bias` {[ROWS, *row]} becomes a table" in plan.summary()


def _nested(table: Any, ids: Any) -> Any:
    return tf.gather_nd(table, ids[:, :, None])


def _flat(table: Any, ids: Any) -> Any:
    return tf.gather_nd(table, tf.reshape(ids, [-1, 1]))


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("lookup", [_nested, _flat])
@pytest.mark.parametrize(("row", "optimizer"), [((DIM,), "sgd"), ((), "adam"), ((2, 3), "adagrad")], ids=str)
@pytest.mark.one_case
def test_gather_nd(lookup: Any, row: tuple[int, ...], optimizer: str, use_resource: bool) -> None:
    assert_same(_model(row, use_resource, optimizer, lookup), "bias", "user")


def test_gather_nd_of_elements_stays() -> None:
    with tf.Graph().as_default():
        bias = _shaped((4,), True)
        loss = tf.reduce_sum(tf.gather_nd(bias, v1.placeholder(tf.int64, [None, 2], "places")))
        v1.train.AdagradOptimizer(0.1).minimize(loss + tf.reduce_sum(tf.gather(bias, [3])))
        (refusal,) = rewrite().refusals
        assert "selects parts of rows" in str(refusal)


@pytest.mark.parametrize("row", [(), (2, 3)], ids=str)
def test_the_proof_compares_rows_of_any_shape(row: tuple[int, ...]) -> None:
    def build() -> tuple[Any, Any]:
        inputs = Inputs.make()
        return _model(row)({"ids": inputs.features["ids"]}, inputs.labels)

    random = np.random.default_rng(0)
    feeds = [{"ids": random.integers(0, ROWS, (16, 3)), "labels": random.normal(size=(16, 1))} for _ in range(5)]
    proof = prove(build, feeds, steps=5)
    assert proof.ok, proof.summary()
    assert "tables: bias, user" in proof.summary()


def test_whole_reads_and_shapes_of_a_vector() -> None:
    with tf.Graph().as_default():
        bias = _shaped((), True)
        rows = tf.identity(tf.gather(bias, v1.placeholder(tf.int64, [None], "ids")))
        shape, total = tf.shape(bias), tf.reduce_sum(bias)
        set_all = bias.assign(tf.range(ROWS, dtype=tf.float32))
        train = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
        start = v1.global_variables_initializer()
        assert [table.name for table in rewrite().tables] == ["bias"]
        with v1.Session() as session:
            session.run(start)
            session.run(set_all.op)
            assert session.run(shape).tolist() == [ROWS]
            assert session.run(rows, {"ids:0": [3, 1, 3]}).tolist() == [3.0, 1.0, 3.0]
            assert session.run(total) == pytest.approx(ROWS * (ROWS - 1) / 2)
            session.run(train, {"ids:0": [3, 1]})
            assert session.run(total) < ROWS * (ROWS - 1) / 2
