"""Idioms of looking rows up, converted and run: values and three training steps are those of the original."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from idiom_runner import OPTIMIZERS, compare, model
from source_helpers import converted, reasons

BODIES = {
    "max_norm": "out = tf.nn.embedding_lookup(W, pairs, max_norm=0.8)",
    "pooled, default": "out = tf.nn.embedding_lookup_sparse(W, sparse, None)",
    "pooled, sum": 'out = tf.nn.embedding_lookup_sparse(W, sparse, None, combiner="sum", name="e")',
    "pooled, weights": 'out = tf.nn.embedding_lookup_sparse(W, sparse, weights, "mod", "e", "mean")',
    "pooled, sqrtn and norm": 'out = tf.nn.embedding_lookup_sparse(W, sparse, weights, "div", None, "sqrtn", 0.8)',
    "pooled, learnt weights": 'scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "w = tf.SparseTensor(weights.indices, weights.values * scale, weights.dense_shape)\n"
    'out = tf.nn.embedding_lookup_sparse(params=W, sp_ids=sparse, sp_weights=w, combiner="sum")',
    "safe, default id": 'out = tf.nn.safe_embedding_lookup_sparse(W, sparse, None, "sum", 3, "name", max_norm=0.9)',
    "two kinds of lookup": "out = tf.nn.safe_embedding_lookup_sparse(W, sparse, default_id=2)\n"
    "out += tf.reduce_sum(tf.nn.embedding_lookup(W, pairs), 1)",
}
#: Uses whose gradient also reaches rows that are not in the batch: exact where zeros move nothing.
WHOLE = {
    "safe": "out = tf.nn.safe_embedding_lookup_sparse(W, sparse, weights)",
}
each_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS)


@each_optimizer
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_it_trains_as_before(body: str, optimizer: str) -> None:
    compare(model(body, optimizer))


@pytest.mark.parametrize("optimizer", [name for name in OPTIMIZERS if name != "momentum"])
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_it_trains_as_before_where_zeros_move_nothing(body: str, optimizer: str) -> None:
    compare(model(body, optimizer))


@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_an_optimizer_that_moves_every_row_needs_an_assumption(body: str) -> None:
    text = model(body, "momentum")
    result = converted(text)
    assert result.converted == text
    assert "`MomentumOptimizer` also moves rows whose gradient is zero" in reasons(result)
    assert "create_table(" in converted(text, assume=True).converted


VECTORS = {
    "gather": "first = tf.gather(b, pairs, axis=0)",
    "lookup": "first = tf.nn.embedding_lookup(b, pairs)",
    "lookup with a norm": "first = tf.nn.embedding_lookup(b, pairs, max_norm=0.5)",
    "pooled": 'first = tf.nn.embedding_lookup_sparse(b, sparse, weights, combiner="sum")\n'
    "first = tf.pad(first, [[0, 6 - tf.shape(first)[0]]])[:, None]",
}


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("body", VECTORS.values(), ids=VECTORS)
def test_a_vector_of_first_order_weights_trains_as_before(body: str, optimizer: str) -> None:
    body += "\nout = tf.nn.embedding_lookup(W, pairs[:, 0]) + tf.reduce_sum(first, axis=1, keepdims=True)"
    compare(model(body, optimizer), moved=("w", "b"))
