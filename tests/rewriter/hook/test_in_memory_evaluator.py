"""InMemoryEvaluatorHook beside GraphModifierHook: it evaluates the rows of the session that trains, or refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
import runtime

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
ROWS = 20


def _data() -> Any:
    ids = np.random.default_rng(0).integers(0, ROWS, 64)
    return tf.data.Dataset.from_tensor_slices((ids, (ids % 7).astype(np.float32))).repeat(3).batch(16)


def _losses(folder: Path, training: bool, evaluating: bool, inside: tuple[str, ...] = (), first: bool = False) -> Any:
    """Return the losses in memory; with hooks in training and evaluation, and rewrite() in model_fn in these modes."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        zeros = v1.zeros_initializer()
        table = v1.get_variable("emb", [ROWS, 1], initializer=zeros, partitioner=v1.fixed_size_partitioner(2))
        scores = tf.nn.embedding_lookup(table, features)[:, 0] + v1.get_variable("bias", [], initializer=zeros)
        loss = tf.reduce_mean((scores - labels) ** 2)
        step = v1.train.AdagradOptimizer(1.0).minimize(loss, v1.train.get_global_step())
        if mode in inside:
            rewriter.rewrite()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model, str(folder))
    own = [rewriter.GraphModifierHook()] if evaluating else []
    evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _data, hooks=own, every_n_iter=5)
    found, run = [], estimator._evaluate_run

    def noted(*arguments: Any, **named: Any) -> Any:
        found.append(run(*arguments, **named)["loss"])
        return {"loss": found[-1]}

    estimator._evaluate_run = noted
    hooks = [rewriter.GraphModifierHook()] if training else []
    estimator.train(_data, hooks=[evaluator, *hooks] if first else [*hooks, evaluator], steps=10)
    return found


@pytest.mark.parametrize(
    "how",
    [(True, True), (True, True, (), True), (False, True), (False, False, ("train", "eval"))],
    ids=["hooks", "evaluator first", "evaluation alone", "model_fn"],
)
@pytest.mark.one_case
def test_trained_rows_are_evaluated(how: Any, tmp_path: Path) -> None:
    stock = _losses(tmp_path / "stock", False, False)
    assert len(stock) == 4 and stock[-1] < 0.5 * stock[0]
    assert _losses(tmp_path / "moved", *how) == pytest.approx(stock, rel=1e-5)


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ((True, False), "the variable `emb`, which is a table in training: give it hooks="),
        ((False, False, ("eval",)), "the table `emb`, which is not a table in training: rewrite both"),
    ],
    ids=["training alone", "evaluation's model_fn alone"],
)
@pytest.mark.one_case
def test_initial_rows_are_refused_before_the_first_step(how: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        _losses(tmp_path, *how)


def _own_losses(folder: Path, **place: Any) -> tuple[list[float], float]:
    """Return the losses in memory of a program with a table, before, while and after it trains, and the last anew."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        table = runtime.create_table(tf.int64, 1, "emb", v1.zeros_initializer(), **place)
        rows = runtime.sparse_lookup(table, features, is_train=mode == "train")
        loss = tf.reduce_mean((rows[:, 0] - labels) ** 2)
        step = None
        if mode == "train":
            optimizer = runtime.optimizers.adagrad.create_hash_optimizer(1.0)
            pairs = optimizer.compute_gradients(loss, [table.variable])
            step = tf.group(optimizer.apply_gradients(pairs), v1.assign_add(v1.train.get_global_step(), 1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model, str(folder))
    evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _data, every_n_iter=4)
    found, run = [], estimator._evaluate_run

    def noted(**named: Any) -> Any:
        found.append(run(**named)["loss"])
        return {"loss": found[-1]}

    estimator._evaluate_run = noted
    estimator.train(_data, hooks=[evaluator])
    estimator._evaluate_run = run
    return found, estimator.evaluate(_data)["loss"]


def test_rows_of_a_table_of_the_program(tmp_path: Path) -> None:
    found, last = _own_losses(tmp_path)
    assert found[-1] == pytest.approx(last) and found[-1] < 0.5 * found[0]


@pytest.mark.soak
def test_rows_that_train_on_a_device_are_evaluated(tmp_path: Path) -> None:
    found, _ = _own_losses(tmp_path / "device", device="/cpu:0", device_vocabulary_size=ROWS)
    assert found == _own_losses(tmp_path / "host")[0]
