"""Canned Estimators of TensorFlow under the hook: linear columns, embedding columns, both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook

pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
v1 = tf.compat.v1
_columns = tf.feature_column
_STEPS = 12


def _data() -> Any:
    random = np.random.default_rng(0)
    features = {name: random.integers(0, 20, 64) for name in ("user", "item")}
    labels = random.integers(0, 2, 64).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16)


def _linear() -> list[Any]:
    return [
        *(_columns.categorical_column_with_identity(name, 20) for name in ("user", "item")),
        _columns.crossed_column(["user", "item"], 40),
    ]


def _deep() -> list[Any]:
    starts = v1.truncated_normal_initializer(stddev=0.3, seed=5)
    identity = _columns.categorical_column_with_identity
    return [_columns.embedding_column(identity(name, 20), 4, initializer=starts) for name in ("user", "item")]


_ESTIMATORS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda config: v1.estimator.LinearClassifier(_linear(), config=config), 3),
    "dnn": (lambda config: v1.estimator.DNNClassifier([8], _deep(), config=config), 2),
    "wide and deep": (
        lambda config: v1.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=_linear(), dnn_feature_columns=_deep(), dnn_hidden_units=[8], config=config
        ),
        5,
    ),
}


class _Losses(v1.train.SessionRunHook):  # type: ignore[misc]
    """Keeps the loss of each step, which canned Estimators put into a collection of losses."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def begin(self) -> None:
        self._loss = v1.get_collection(v1.GraphKeys.LOSSES)[-1]

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.found.append(float(run_values.results))


def _trained(make: Callable[[Any], Any], hooks: list[Any], strategy: Any, folder: str) -> list[float]:
    """Train in two calls, so that a checkpoint is written and read; return the losses and that of an evaluation."""
    config = v1.estimator.RunConfig(tf_random_seed=3, train_distribute=strategy, model_dir=folder)
    estimator, losses = make(config), _Losses()
    for steps in (_STEPS // 2, _STEPS):
        estimator.train(_data, hooks=[*hooks, losses], max_steps=steps)
    return [*losses.found, estimator.evaluate(_data, steps=2, hooks=hooks)["loss"]]


@pytest.mark.parametrize("strategy", [None, "/cpu:0"], ids=["alone", "one device"])
@pytest.mark.parametrize("kind", _ESTIMATORS)
@pytest.mark.one_case
def test_trains_and_evaluates_as_without_the_hook(kind: str, strategy: str | None, tmp_path: Any) -> None:
    make, tables = _ESTIMATORS[kind]
    hook = GraphModifierHook()
    devices = [tf.distribute.OneDeviceStrategy(strategy) if strategy else None for _ in range(2)]
    stock = _trained(make, [], devices[0], str(tmp_path / "stock"))
    moved = _trained(make, [hook], devices[1], str(tmp_path / "moved"))
    assert hook.plan is not None
    assert (len(hook.plan.tables), hook.plan.refusals) == (tables, ()), hook.plan.summary()
    np.testing.assert_allclose(moved, stock, rtol=2e-5)
