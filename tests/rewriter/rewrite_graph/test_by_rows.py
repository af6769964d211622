"""Lookups of what is computed row by row from variables, and dense gradients that have only the rows of lookups."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import prove, rewrite
from tests.support.rewriter.compare import DIM, ROWS, Inputs, assert_same, loss_of, step_after, variable

v1 = tf.compat.v1
_STEPS = 20
_MASK = np.arange(ROWS, dtype=np.float32)[:, None] % 4 > 0
_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "adagrad": lambda: v1.train.AdagradOptimizer(0.2),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
}
Form = Callable[[Any], Any]


_FORMS: dict[str, Form] = {
    "half": lambda table: tf.cast(table, tf.float16),
    "scaled": lambda table: table * DIM**0.5,
    "moved": lambda table: table + 0.25,
    "masked": lambda table: table * _MASK.astype(np.float32),
    "masked by a computed mask": lambda table: table * tf.cast(tf.range(ROWS)[:, None] > 0, tf.float32),
    "masked by where": lambda table: tf.where(tf.constant(_MASK), table, tf.zeros_like(table)),
    "partly frozen": lambda table: table * _MASK + tf.stop_gradient(table * ~_MASK),
    "tanh": tf.tanh,
    "normalized": lambda table: tf.nn.l2_normalize(table, 1),
    "clipped by row": lambda table: tf.clip_by_norm(table, 1.0, axes=[1]),
    "centered": lambda table: table - tf.reduce_mean(table, 1, keepdims=True),
    "a constant row before": lambda table: tf.concat([tf.fill([1, DIM], 0.3), table], 0),
    "zeros before and scaled": lambda table: tf.concat([tf.zeros([1, DIM]), table[1:]], 0) * 2.0,
    "a part of the rows": lambda table: tf.concat([tf.zeros([1, DIM]), table[1:-1], tf.ones([1, DIM])], 0),
    "padded": lambda table: tf.pad(table[1:], [[1, 0], [0, 0]]),
    "turned twice": lambda table: tf.transpose(tf.transpose(table) * 2.0),
    "beside itself": lambda table: tf.concat([table, table * 2.0], 1),
    "columns": lambda table: table[:, :3] * 2.0,
    "the product of two halves": lambda table: tf.multiply(*tf.split(table, 2, 1)),
    "one of its two parts": lambda table: tf.split(table, [3, -1], 1)[0] * 2.0,
}


def _model(
    form: Form,
    optimizer: str = "adam",
    term: Form | None = None,
    clip: Callable[[list[Any]], list[Any]] | None = None,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, ids = variable(), features["ids"]
        whole = form(table)
        found = [v1.nn.embedding_lookup(whole, one) for one in (ids, ids // 2)]
        rows = [tf.cast(tf.reshape(one, [-1, 3 * one.shape[-1]]), tf.float32) for one in found]
        loss = loss_of(tf.concat(rows, 1), labels) + (term(table) if term else 0.0)
        return loss, _step(loss, _OPTIMIZERS[optimizer](), clip)

    return build


def _step(loss: Any, optimizer: Any, clip: Callable[[list[Any]], list[Any]] | None) -> Any:
    if clip is None:
        return step_after(loss, optimizer)
    with tf.control_dependencies([loss]):
        pairs = optimizer.compute_gradients(loss)
    return optimizer.apply_gradients(zip(clip([one for one, _ in pairs]), [one for _, one in pairs], strict=True))


@pytest.mark.parametrize("form", _FORMS)
def test_every_form(form: str) -> None:
    assert_same(_model(_FORMS[form]), "user", steps=_STEPS)


def _global_norm(gradients: list[Any]) -> list[Any]:
    return list(tf.clip_by_global_norm(gradients, 0.05)[0])


_CLIPS: dict[str, Callable[[list[Any]], list[Any]]] = {
    "global norm": _global_norm,
    "norm": lambda gradients: [tf.clip_by_norm(one, 0.05) for one in gradients],
    "value": lambda gradients: [tf.clip_by_value(one, -0.01, 0.01) for one in gradients],
}


@pytest.mark.parametrize("optimizer", ["adam", "adagrad"])
@pytest.mark.parametrize("clip", ["global norm", "norm"])
def test_a_clipped_gradient_with_a_term_over_all_rows(clip: str, optimizer: str) -> None:
    build = _model(lambda table: table, optimizer, term=lambda table: 0.05 * tf.nn.l2_loss(table), clip=_CLIPS[clip])
    assert_same(build, "user", steps=_STEPS)


@pytest.mark.parametrize("clip", _CLIPS)
@pytest.mark.one_case
def test_a_clipped_gradient_of_computed_rows(clip: str) -> None:
    assert_same(_model(tf.tanh, clip=_CLIPS[clip]), "user", steps=_STEPS)


def test_a_term_that_is_clipped_is_shared_by_no_steps(graph: tf.Graph) -> None:
    build = _model(lambda table: table, term=lambda table: 0.05 * tf.nn.l2_loss(table), clip=_global_norm)
    inputs = Inputs.make()
    build(inputs.features, inputs.labels)
    assert not rewrite(graph, every=10, dry_run=True).tables
    assert rewrite(graph, dry_run=True).tables


def _towers(combine: Callable[[list[Any]], Any]) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, optimizer, losses = variable(), v1.train.AdamOptimizer(0.02), []
        for number, (ids, given) in enumerate(zip(tf.split(features["ids"], 2), tf.split(labels, 2), strict=True)):
            with v1.variable_scope("model", reuse=number > 0):
                losses.append(loss_of(tf.reshape(v1.nn.embedding_lookup(table, ids), [-1, 3 * DIM]), given))
        loss = tf.add_n(losses) / 2.0
        with tf.control_dependencies([loss]):
            towers = [optimizer.compute_gradients(one) for one in losses]
        pairs = [(combine([one for one, _ in pair]), pair[0][1]) for pair in zip(*towers, strict=True)]
        return loss, optimizer.apply_gradients(pairs)

    return build


_AVERAGES: dict[str, Callable[[list[Any]], Any]] = {
    "concat": lambda parts: tf.reduce_mean(tf.concat([tf.expand_dims(one, 0) for one in parts], 0), 0),
    "stack": lambda parts: tf.reduce_mean(tf.stack([tf.convert_to_tensor(one) for one in parts]), 0),
    "sum": lambda parts: tf.add_n(parts) / 2.0,
}


@pytest.mark.parametrize("average", _AVERAGES)
@pytest.mark.one_case
def test_an_average_of_towers(average: str) -> None:
    assert_same(_towers(_AVERAGES[average]), "user", steps=_STEPS)


@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.one_case
def test_pooled_lookups_of_computed_rows(combiner: str) -> None:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table = variable() * 2.0
        pooled = v1.nn.embedding_lookup_sparse(table, features["tags"], features["weights"], combiner=combiner)
        plain = v1.nn.safe_embedding_lookup_sparse(table, features["more"], None, combiner=combiner)
        product = tf.sparse.sparse_dense_matmul(_bags(features["ids"]), tf.tanh(table))
        loss = loss_of(tf.concat([pooled, plain, product], 1), labels)
        return loss, step_after(loss, v1.train.AdamOptimizer(0.02))

    assert_same(build, "user", steps=_STEPS)


def _bags(ids: Any) -> Any:
    rows = tf.repeat(tf.range(tf.shape(ids, tf.int64)[0]), 3)
    flat = tf.reshape(ids, [-1])
    return tf.SparseTensor(
        tf.stack([rows, flat], 1), tf.ones_like(flat, tf.float32), [tf.shape(ids, tf.int64)[0], ROWS]
    )


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.one_case
def test_products_of_a_sparse_matrix_whose_shape_is_fed_with_a_term_over_all_rows(use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        table, bags = variable(use_resource=use_resource), _bags(features["ids"])
        fed = tf.SparseTensor(bags.indices, bags.values, v1.placeholder_with_default(bags.dense_shape, [2]))
        sums = tf.sparse.sparse_dense_matmul(fed, table)
        squares = tf.sparse.sparse_dense_matmul(fed, tf.pow(table, 2))
        loss = loss_of(sums**2 - squares, labels) + 0.05 * tf.nn.l2_loss(table)
        return loss, step_after(loss, v1.train.AdamOptimizer(0.02))

    v1.disable_v2_tensorshape()  # dimensions are then objects that are never None, as in most programs of TensorFlow 1
    try:
        assert_same(build, "user", steps=_STEPS)
    finally:
        v1.enable_v2_tensorshape()


_KEEPS: dict[str, tuple[Form, str]] = {
    "cumulative": (lambda table: tf.cumsum(table, 0), "Cumsum"),
    "scaled by the mean of all": (lambda table: table - tf.reduce_mean(table, 0), "Mean"),
    "softmax over rows": (lambda table: tf.transpose(tf.nn.softmax(tf.transpose(table))), "Transpose"),
    "turned around": (lambda table: tf.reverse(table, [0]), "ReverseV2"),
}


@pytest.mark.parametrize("form", _KEEPS)
def test_what_mixes_rows_keeps_the_variable(graph: tf.Graph, form: str) -> None:
    build, named = _KEEPS[form]
    inputs = Inputs.make()
    _model(build)(inputs.features, inputs.labels)
    plan = rewrite(graph, dry_run=True)
    assert not plan.tables and named in str(plan.refusals[0])


def test_the_proof_compares_rows_and_steps() -> None:
    def build() -> tuple[Any, Any]:
        inputs = Inputs.make()
        return _model(lambda table: tf.tanh(table) * 2.0, "adagrad")({"ids": inputs.features["ids"]}, inputs.labels)

    random = np.random.default_rng(0)
    feeds = [{"ids": random.integers(0, ROWS, (16, 3)), "labels": random.normal(size=(16, 1))} for _ in range(5)]
    proof = prove(build, feeds, steps=5)
    assert proof.ok, proof.summary()
