"""The proof holds for rewritten models: optimizers, dropout, iterators, pooling, branches; and it says what it saw."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter.proof import prove
from tests.support.rewriter import models as small
from tests.support.rewriter.compare import BATCH, DIM, head, variable

v1 = tf.compat.v1


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.parametrize("form", ["one shot", "initializable", "structure"])
def test_iterators(form: str) -> None:
    def build() -> Any:
        random = np.random.default_rng(0)
        ids, labels = random.integers(0, 60, (200, 3)), random.normal(size=(200, 1)).astype(np.float32)
        data = tf.data.Dataset.from_tensor_slices(({"ids": ids}, labels)).shuffle(200).repeat().batch(BATCH)
        if form == "one shot":
            features, labels = v1.data.make_one_shot_iterator(data).get_next()
        elif form == "initializable":
            features, labels = v1.data.make_initializable_iterator(data).get_next()
        else:
            types = v1.data.get_output_types(data), v1.data.get_output_shapes(data)
            iterator = v1.data.Iterator.from_structure(*types)
            iterator.make_initializer(data)
            features, labels = iterator.get_next()
        return head(_flat(v1.nn.embedding_lookup(variable(), features["ids"])), labels, v1.train.AdamOptimizer(0.01))

    proof = prove(build, steps=7)
    assert proof.ok, proof.summary()
    assert proof.steps == 7


def test_sparse_and_ragged_features_of_an_iterator() -> None:
    def build() -> Any:
        ragged = tf.ragged.constant([[1, 2], [3], [4, 5, 6]] * 20, dtype=tf.int64)
        sparse = ragged.to_sparse()
        labels = tf.ones([60, 1])
        data = tf.data.Dataset.from_tensor_slices(({"ragged": ragged, "sparse": sparse}, labels)).repeat().batch(5)
        features, labels = v1.data.make_one_shot_iterator(data).get_next()
        pooled = [
            v1.nn.embedding_lookup_sparse(variable(name), features[name], None, combiner="sum")
            for name in ("ragged", "sparse")
        ]
        return head(tf.concat(pooled, 1), labels, v1.train.AdagradOptimizer(0.1))

    proof = prove(build, steps=4)
    assert proof.ok, proof.summary()


def test_a_proof_says_what_it_saw() -> None:
    def build() -> Any:
        _, _, loss, step = small.build("adam")
        return loss, step

    proof = prove(build, [{"ids:0": ids, "labels": labels} for ids, labels in small.batches(3)], 3)
    lines = proof.summary().splitlines()
    assert lines[0].startswith("the rewritten graph computes the same over 3 steps (tables: model/user; ids are")
    assert "  ids: equal, 3 batches of 1 lookup" in lines
    read = json.loads(proof.to_json())
    assert read["ok"] is True
    assert read["difference"] is None
    assert {"kind", "items", "times", "largest", "scale", "limit", "curves"} == set(read["compared"][0])
    (curve,) = next(one.curves for one in proof.compared if one.kind == "losses")
    assert len(curve.original) == len(curve.converted) == 3
    assert curve.converted == pytest.approx(curve.original, rel=1e-5)
    assert len(set(curve.original)) == 3


def test_the_loss_is_found_where_the_train_op_alone_is_fetched() -> None:
    """No collection has it, and nothing fetches it: it is what gradients are taken of."""

    def build() -> Any:
        _, _, _, step = small.build("adam")
        tf.compat.v1.get_default_graph().clear_collection(v1.GraphKeys.LOSSES)
        return step

    proof = prove(build, [{"ids:0": ids, "labels": labels} for ids, labels in small.batches(3)], 3)
    assert proof.ok, proof.summary()
    assert [one.times for one in proof.compared if one.kind == "losses"] == [3]


def test_nothing_to_prove_is_an_error() -> None:
    def build() -> Any:
        return tf.reduce_sum(variable() ** 2)

    with pytest.raises(ValueError, match="no variable was replaced, so there is nothing to prove"):
        prove(build, steps=1)
    with pytest.raises(ValueError, match="a step fetches nothing"):
        prove(lambda: None, steps=1)


def test_an_input_that_ends_is_an_error() -> None:
    def build() -> Any:
        ids = v1.data.make_one_shot_iterator(tf.data.Dataset.from_tensors(np.arange(3))).get_next()
        return tf.reduce_sum(v1.nn.embedding_lookup(variable(), ids))

    with pytest.raises(ValueError, match="the input ends before 2 steps are recorded: give verify a smaller number"):
        prove(build, steps=2)
