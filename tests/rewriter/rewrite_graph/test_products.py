"""Products of a sparse matrix with a variable are pooled lookups: the ids are its columns, the weights its values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import prove, rewrite
from tests.support.rewriter.compare import BATCH, DIM, ROWS, Inputs, assert_same, loss_of, step_after, variable

v1 = tf.compat.v1
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "rmsprop": lambda: v1.train.RMSPropOptimizer(0.01, momentum=0.5),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
}
More = Callable[[Any, Any, Any, Any], Any]


def _matrix(features: Any, weights: Any = None) -> tf.SparseTensor:
    """Return the sparse matrix [BATCH, ROWS] of the tags and their weights; tags may come twice in an example."""
    tags = features["tags"]
    indices = tf.stack([tags.indices[:, 0], tags.values], 1)
    return tf.SparseTensor(indices, features["weights"].values if weights is None else weights, [BATCH, ROWS])


def _model(
    optimizer: str = "adagrad", more: More | None = None, term: float = 0.0, use_resource: bool = True
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, matrix = variable(use_resource=use_resource), _matrix(features)
        rows = [tf.sparse.sparse_dense_matmul(matrix, table)]
        if more:
            rows.append(more(table, matrix, features, rows[0]))
        loss = loss_of(tf.concat(rows, 1), labels) + (term * tf.nn.l2_loss(table) if term else 0.0)
        return loss, step_after(loss, _OPTIMIZERS[optimizer]())

    return build


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", _OPTIMIZERS)
def test_every_optimizer(optimizer: str, use_resource: bool) -> None:
    assert_same(_model(optimizer, use_resource=use_resource), "user")


def test_weights_that_are_trained() -> None:
    """Their gradient gathers rows of the variable."""

    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, scales = variable(), v1.get_variable("scales", [ROWS], initializer=v1.ones_initializer())
        weights = features["weights"].values * tf.gather(scales, features["tags"].values)
        loss = loss_of(tf.sparse.sparse_dense_matmul(_matrix(features, weights), table), labels)
        return loss, step_after(loss, v1.train.AdagradOptimizer(0.1))

    assert_same(build, "scales", "user")


def test_it_is_proven_and_its_result_can_be_fetched() -> None:
    def build() -> tuple[Any, Any]:
        inputs = Inputs.make()
        return _model()(inputs.features, inputs.labels)

    with tf.Graph().as_default():
        inputs = Inputs.make()
        names = {one.name.removesuffix(":0"): one for one in (*_placeholders(inputs), inputs.labels)}
        feeds = [{name: _value(feed, one) for name, one in names.items()} for feed in inputs.feeds(5)]
    proof = prove(build, feeds, steps=5)
    assert proof.ok, proof.summary()
    assert "updated ids" in proof.summary()
    assert "rows looked up" in proof.summary()


def _placeholders(inputs: Inputs) -> list[Any]:
    sparse = [inputs.features[name] for name in ("tags", "weights")]
    return [part for one in sparse for part in (one.indices, one.values, one.dense_shape)]


def _value(feed: Any, tensor: Any) -> Any:
    for given, value in feed.items():
        if isinstance(given, tf.SparseTensor):
            for name in ("indices", "values", "dense_shape"):
                if getattr(given, name) is tensor:
                    return getattr(value, name)
        elif given is tensor:
            return value
    raise KeyError(tensor)


_COMPUTED: dict[str, Callable[[Any, Any], Any]] = {
    "a part of the rows": lambda table, matrix: tf.sparse.sparse_dense_matmul(
        tf.SparseTensor(tf.minimum(matrix.indices, ROWS - 2), matrix.values, [BATCH, ROWS - 1]), table[1:]
    ),
    "a copy that is padded": lambda table, matrix: tf.sparse.sparse_dense_matmul(
        tf.SparseTensor(matrix.indices, matrix.values, [BATCH, ROWS + 1]), tf.concat([tf.zeros([1, DIM]), table], 0)
    ),
    "rows that were changed": lambda table, matrix: tf.sparse.sparse_dense_matmul(matrix, tf.tanh(table)),
}


@pytest.mark.parametrize("form", _COMPUTED)
@pytest.mark.one_case
def test_products_of_computed_rows(form: str) -> None:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        loss = loss_of(_COMPUTED[form](variable(), _matrix(features)), labels)
        return loss, step_after(loss, _OPTIMIZERS["adagrad"]())

    assert_same(build, "user")


_KEPT: dict[str, Callable[[Any, Any], Any]] = {
    "the rows are ids": lambda table, matrix: tf.sparse.sparse_dense_matmul(
        tf.sparse.transpose(matrix), table, adjoint_a=True
    ),
    "columns": lambda table, matrix: tf.sparse.sparse_dense_matmul(
        tf.SparseTensor(matrix.indices, matrix.values, [BATCH, DIM]), table, adjoint_b=True
    ),
}


@pytest.mark.parametrize("form", _KEPT)
def test_other_products_keep_the_variable(form: str) -> None:
    with tf.Graph().as_default() as graph:
        inputs = Inputs.make()
        table = variable()
        rows = _KEPT[form](table, _matrix(inputs.features))
        v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows**2))
        plan = rewrite(graph)
    assert not plan.tables, plan.summary()
    assert "user" in [refusal.table for refusal in plan.refusals]
