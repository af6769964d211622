"""Idioms of looking rows up, converted and run: values and three training steps are those of the original."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import HEAD, MADE, converted, reasons, stays
from tests.support.source.idiom_runner import OPTIMIZERS, compare, model

#: Uses whose gradient also reaches rows that are not in the batch: exact where zeros move nothing.
WHOLE = {
    "safe": "out = tf.nn.safe_embedding_lookup_sparse(W, sparse, weights)",
    "sparse product": "out = tf.sparse_tensor_dense_matmul(wide, W)",
    "factorization machine": "xx = tf.SparseTensor(wide.indices, tf.pow(wide.values, 2), wide.dense_shape)\n"
    'out = tf.pow(tf.sparse.sparse_dense_matmul(wide, W, name="first"), 2)\n'
    "out -= tf.sparse.sparse_dense_matmul(xx, tf.pow(W, 2))",
    "padding in row 0": "W = tf.concat((tf.zeros(shape=[1, 4]), W[1:, :]), 0)\nout = tf.nn.embedding_lookup(W, pairs)",
    "padding before row 0": "P = tf.concat([tf.zeros((1, 4)), W], axis=0)\nout = tf.gather(P, pairs)",
    "padding in place": "out = tf.nn.embedding_lookup(tf.concat([tf.zeros([1, 4]), W[1:]], 0), pairs)\n"
    "out += tf.nn.embedding_lookup(W, pairs)",
    "padding if a flag says so": "pad = len(feeds) == 5\nif pad:\n    # zeros\n"
    "    W = tf.concat([tf.zeros([1, 4]), W[1:]], 0)\nout = tf.nn.embedding_lookup(W, pairs)",
}
each_optimizer = pytest.mark.parametrize("optimizer", OPTIMIZERS)


@each_optimizer
@pytest.mark.parametrize("body", WHOLE.values(), ids=WHOLE)
def test_it_trains_as_before_where_each_row_has_a_gradient(body: str, optimizer: str) -> None:
    if body != WHOLE["safe"] or optimizer != "momentum":
        compare(model(body, optimizer))


def test_a_pooled_lookup_under_an_optimizer_that_moves_every_row_needs_an_assumption() -> None:
    text = model(WHOLE["safe"], "momentum")
    stays(text, "`MomentumOptimizer` also moves rows whose gradient is zero")
    assert "create_table(" in converted(text, assume=True).converted


BRANCHES = {
    "a lookup": "tf.nn.embedding_lookup(W, pairs)",
    "a one-hot product": "tf.matmul(tf.one_hot(ids, 20), W)",
    "a padded table": "tf.nn.embedding_lookup(tf.concat([tf.zeros([1, 4]), W], 0), pairs)",
}


@pytest.mark.parametrize("body", BRANCHES.values(), ids=BRANCHES)
def test_a_lookup_in_a_branch_of_the_graph_leaves_rows_to_zeros_where_it_does_not_run(body: str) -> None:
    def trained(optimizer: str) -> str:
        return model(f"out = tf.cond(tf.size(ids) > 0, lambda: {body}, lambda: tf.zeros_like({body}))", optimizer)

    result = converted(trained("momentum"))
    assert "if the branch of this lookup does not run" in reasons(result)
    assert "create_table(" not in result.converted
    assert "create_table(" in converted(trained("adagrad")).converted


def test_a_one_hot_product_with_a_vector_is_squeezed() -> None:
    body = "out = tf.nn.embedding_lookup(W, ids) + tf.tensordot(tf.one_hot(ids, 20), b, 1)[:, None]"
    compare(model(body, "adam"), assume=True, moved=("w", "b"))


def test_a_model_that_is_trained_elsewhere_is_told_which_optimizers_fit() -> None:
    text = HEAD + "def build(x):\n    " + MADE + "    return tf.sparse_tensor_dense_matmul(x, W)\n"
    assert "SGD, Adagrad and Adam train the table" in reasons(converted(text, assume=True))


def test_a_lookup_inside_a_lookup_that_is_written_anew_moves_with_it() -> None:
    body = 'V = tf.get_variable("v", [9, 4])\ne = tf.matmul(tf.one_hot(tf.argmax(tf.gather(V, i), 1), 9), W)\n'
    result = converted(HEAD + MADE + body, assume=True)
    assert "e = one_hot_lookup(W, tf.argmax(sparse_lookup(V, i), 1), 9)\n" in result.converted
