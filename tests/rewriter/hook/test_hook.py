"""GraphModifierHook in MonitoredTrainingSession and tf.estimator: checkpoints, evaluation, two graphs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from tests.support.rewriter.models import BATCH, DIM, FIELDS, OPTIMIZERS, ROWS, batches, build

v1 = tf.compat.v1


def test_the_graph_can_be_left_as_it_is(graph: tf.Graph) -> None:
    build()
    before = graph.as_graph_def()
    GraphModifierHook(modify_graph=False).begin()
    assert graph.as_graph_def() == before


def _model(optimizer: str) -> Any:
    def model(features: Any, labels: Any, mode: str) -> Any:
        v1.set_random_seed(3)
        table = v1.get_variable("user", [ROWS, DIM], initializer=v1.random_normal_initializer(stddev=0.1))
        hidden = tf.tanh(tf.reshape(v1.nn.embedding_lookup(table, features["ids"]), [-1, FIELDS * DIM]))
        weights = v1.get_variable("weights", [FIELDS * DIM, 1], initializer=v1.random_normal_initializer(stddev=0.1))
        scores = hidden @ weights
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"scores": scores})
        loss = tf.reduce_mean(tf.square(scores - labels))
        train = None
        if mode == tf.estimator.ModeKeys.TRAIN:
            train = OPTIMIZERS[optimizer]().minimize(loss, v1.train.get_or_create_global_step())
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    return model


def _data(steps: int) -> Any:
    given = batches(steps)
    ids = np.stack([one for one, _ in given]).reshape(-1, FIELDS)
    labels = np.stack([two for _, two in given]).reshape(-1, 1).astype(np.float32)

    def data() -> Any:
        return tf.data.Dataset.from_tensor_slices(({"ids": ids}, labels)).batch(BATCH)

    return data


class _Losses(v1.train.SessionRunHook):  # type: ignore[misc]
    """Keeps the loss of every step."""

    def __init__(self) -> None:
        self.seen: list[float] = []

    def begin(self) -> None:
        (self.loss,) = v1.losses.get_losses() or [v1.get_default_graph().get_tensor_by_name("Mean:0")]

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self.loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen.append(float(run_values.results))


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
@pytest.mark.parametrize("optimizer", ["adagrad", "adam"])
@pytest.mark.one_case
def test_an_estimator_trains_evaluates_and_predicts_as_without_the_hook(optimizer: str, tmp_path: Path) -> None:
    found = {}
    for moved in (False, True):
        hooks = [GraphModifierHook()] if moved else []
        losses = _Losses()
        estimator = tf.estimator.Estimator(_model(optimizer), model_dir=str(tmp_path / str(moved)))
        estimator.train(_data(100), hooks=[*hooks, losses])
        evaluated = estimator.evaluate(_data(5), hooks=hooks)["loss"]
        predicted = [one["scores"] for one in estimator.predict(_data(2), hooks=hooks)]
        found[moved] = np.array(losses.seen), evaluated, np.array(predicted)
        if moved:
            assert dict(tf.train.list_variables(str(tmp_path / "True")))["user-values"] == [ROWS, DIM]
    (stock, stock_loss, stock_scores), (moved_losses, loss, scores) = found[False], found[True]
    assert len(stock) == 100
    assert np.abs(stock - moved_losses).max() <= 1e-5 * np.abs(stock).max()
    assert loss == pytest.approx(stock_loss, rel=1e-5)
    np.testing.assert_allclose(scores, stock_scores, rtol=1e-5, atol=1e-5)
