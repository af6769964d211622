"""The proof holds for rewritten models: optimizers, dropout, iterators, pooling, branches; and it says what it saw."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter.proof import Proof, prove
from tests.support.rewriter import models as small
from tests.support.rewriter.compare import BATCH, DIM, Inputs, head, loss_of, variable

v1 = tf.compat.v1


def _proved(build: Callable[[Any, Any], Any], steps: int = 8) -> Proof:
    """Prove a model of `rewriter_compare`."""
    made: list[Inputs] = []

    def whole() -> Any:
        v1.set_random_seed(3)
        made.append(Inputs.make())
        return build(made[0].features, made[0].labels)

    proof = prove(whole, lambda: made[0].feeds(steps), steps)
    assert proof.ok, proof.summary()
    assert proof.steps == steps
    return proof


def _kinds(proof: Proof) -> dict[str, tuple[str, ...]]:
    return {one.kind: one.items for one in proof.compared}


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("optimizer", small.OPTIMIZERS)
def test_every_optimizer(optimizer: str, use_resource: bool) -> None:
    def build() -> Any:
        _, _, loss, step = small.build(optimizer, use_resource)
        return loss, step

    proof = prove(build, [{"ids": ids, "labels": labels} for ids, labels in small.batches(20)], 20)
    assert proof.ok, proof.summary()
    kinds = _kinds(proof)
    assert kinds["ids"] == kinds["rows looked up"] == ("embedding_lookup",)
    assert kinds["losses"] == ("Mean:0",)
    assert kinds["dense gradients"] == ("model/weights",)
    assert kinds["touched rows"] == kinds["all rows at the end"] == ("model/user",)
    assert {"model/weights", "global_step"} <= set(kinds["dense variables"])
    slots = {"sgd": 0, "momentum": 1, "nesterov": 1, "adagrad": 1, "rmsprop_centered": 3}.get(optimizer, 2)
    assert len(kinds.get("slots of touched rows", ())) == slots


@pytest.mark.parametrize("old", [True, False], ids=["switch and merge", "functions"])
def test_dropout_in_a_branch(old: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        v1.set_random_seed(None)
        rows = _flat(v1.nn.embedding_lookup(variable(), features["ids"]))
        if old:
            v1.disable_control_flow_v2()
        try:
            hidden = v1.cond(tf.reduce_sum(labels) > 0, lambda: v1.nn.dropout(rows, rate=0.5), lambda: rows)
        finally:
            v1.enable_control_flow_v2()
        return head(hidden, labels, v1.train.AdagradOptimizer(0.1))[1]  # the loss is found without being fetched

    assert _kinds(_proved(build))["losses"] == ("Mean:0",)


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


def test_what_python_computes_is_recorded() -> None:
    def build(features: Any, labels: Any) -> Any:
        random = np.random.default_rng()
        noise = v1.py_func(lambda: random.normal(size=(BATCH, 3 * DIM)).astype(np.float32), [], tf.float32)
        noise.set_shape([BATCH, 3 * DIM])
        start = v1.py_func(lambda: random.normal(size=(60, DIM)).astype(np.float32), [], tf.float32)
        start.set_shape([60, DIM])
        table = v1.get_variable("user", initializer=start, use_resource=True)
        return head(
            _flat(v1.nn.embedding_lookup(table, features["ids"])) + noise, labels, v1.train.AdagradOptimizer(0.1)
        )

    _proved(build)


def test_a_variable_that_stays_is_compared_with_its_sparse_gradient() -> None:
    def build(features: Any, labels: Any) -> Any:
        moved, kept = variable("moved"), variable("kept")
        rows = [_flat(v1.nn.embedding_lookup(table, features["ids"])) for table in (moved, kept)]
        loss = loss_of(tf.concat(rows, 1), labels) + 0.01 * tf.reduce_max(kept)
        return loss, v1.train.AdagradOptimizer(0.1).minimize(loss)

    proof = _proved(build)
    assert proof.tables == ("moved",)
    assert {"kept", "head"} == set(_kinds(proof)["dense gradients"])


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

    with pytest.raises(ValueError, match="the input ends before 2 steps are recorded: ask for fewer steps"):
        prove(build, steps=2)
