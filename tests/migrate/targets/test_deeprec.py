"""Conversions to DeepRec, run over the façade and compared with stock TensorFlow."""

from __future__ import annotations

import pytest

pytest.importorskip("tensorflow")
from tests.support.source.converting import reasons
from tests.support.source.idiom_runner import compare, model
from tests.support.targets.conversion import convert
from tests.support.targets.facades import deeprec_installed

WIDE = (
    "places = tf.stack([sparse.indices[:, 0], sparse.values], 1)\n"
    "wide = tf.SparseTensor(places, tf.linspace(-1.0, 2.0, tf.size(sparse.values)), [6, 20])\n"
)
BODIES = {
    "lookup": "out = tf.nn.embedding_lookup(W, ids)",
    "ids of int32": 'out = tf.nn.embedding_lookup(W, pairs, partition_strategy="div", name="e")',
    "by keywords": "out = tf.nn.embedding_lookup(params=W, ids=pairs)",
    "max_norm": "out = tf.nn.embedding_lookup(W, pairs, max_norm=0.8)",
    "a list of ids": "out = tf.nn.embedding_lookup(W, [ids, ids])",
    "ids that are written out": "out = tf.nn.embedding_lookup(W, [[3, 4], [4, 19]])",
    "gather": "out = tf.gather(params=W, indices=pairs)",
    "pooled": "out = tf.nn.embedding_lookup_sparse(W, sparse, None)",
    "pooled, sum": 'out = tf.nn.embedding_lookup_sparse([W], sparse, sp_weights=None, combiner="sum")',
    "pooled, by position": 'out = tf.nn.embedding_lookup_sparse(W, sparse, None, "mod", None, "sum")',
    "safe": 'out = tf.nn.safe_embedding_lookup_sparse(W, sparse, None, "sum", 3)',
    "sparse product": WIDE + "out = tf.sparse_tensor_dense_matmul(wide, W)",
    "factorization machine": WIDE + "out = tf.sparse.sparse_dense_matmul(wide, W) ** 2"
    " - tf.sparse.sparse_dense_matmul(wide, tf.square(W))",
}


@pytest.mark.parametrize("optimizer", ["sgd", "adagrad"])
@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
@pytest.mark.one_case
def test_it_trains_as_before(body: str, optimizer: str) -> None:
    compare(model(body, optimizer), "deeprec", deeprec_installed())


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("out = tf.nn.embedding_lookup(W, ids)\nloss = tf.nn.l2_loss(W)", "DeepRec has no function for the rows"),
        (
            "out = tf.nn.embedding_lookup(W, ids)\n"
            "loss = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])",
            "cannot be read as a whole",
        ),
    ],
)
def test_an_idiom_that_it_lacks_keeps_the_table(body: str, says: str) -> None:
    text = model(body)
    result = convert(text, "deeprec", assume=True)
    assert result.converted == text
    assert says in reasons(result)
    assert convert(text, "runtime", assume=True).converted != text, "the runtime has it"


def test_ids_that_are_written_out_are_those_of_its_keys() -> None:
    ids = "[[3, 4], [4, 19]]"
    assert f"tf.cast({ids}, tf.int64)" in convert(model(f"out = tf.nn.embedding_lookup(W, {ids})"), "deeprec").converted
