"""GraphModifierHook in Estimators with a tf.distribute.Strategy: one device is as none, several are refused by name."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
ROWS = 20
STRATEGIES: dict[str, Any] = {
    "one device": lambda: tf.distribute.OneDeviceStrategy("/cpu:0"),
    "mirrored": lambda: tf.distribute.MirroredStrategy(["/cpu:0"]),
    "parameter server": lambda: v1.distribute.experimental.ParameterServerStrategy(),
    "workers": lambda: v1.distribute.experimental.MultiWorkerMirroredStrategy(),
}


def _model(features: Any, labels: Any, mode: str) -> Any:
    table = v1.get_variable("emb", [ROWS, 2], initializer=v1.random_normal_initializer(seed=1))
    loss = tf.reduce_mean((tf.reduce_sum(tf.nn.embedding_lookup(table, features), 1) - labels) ** 2)
    step = v1.train.AdagradOptimizer(0.5).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def _data() -> Any:
    ids = np.random.default_rng(0).integers(0, ROWS, 64)
    return tf.data.Dataset.from_tensor_slices((ids, (ids % 7).astype(np.float32))).batch(16)


def _loss(folder: Path, moved: bool, strategy: Any = None) -> float:
    made = [strategy and strategy() for _ in range(2)]
    config = tf.estimator.RunConfig(str(folder), train_distribute=made[0], eval_distribute=made[1])
    estimator = tf.estimator.Estimator(_model, config=config)
    for call in (estimator.train, estimator.evaluate):
        found = call(_data, hooks=[GraphModifierHook()] if moved else [])
    return float(found["loss"])


@pytest.mark.parametrize("strategy", STRATEGIES.values(), ids=STRATEGIES)
@pytest.mark.one_case
def test_one_device_trains_as_without_a_strategy(strategy: Any, tmp_path: Path) -> None:
    assert _loss(tmp_path / "moved", True, strategy) == pytest.approx(_loss(tmp_path / "stock", False), rel=1e-5)
    assert dict(tf.train.list_variables(str(tmp_path / "moved")))["emb-values"] == [ROWS, 2]


def test_variables_with_copies_stay_and_say_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process whose devices are known cannot have a second one made of its processor any more.
    monkeypatch.setattr(tf.distribute.MirroredStrategy, "num_replicas_in_sync", 2)
    with caplog.at_level(logging.WARNING, "rewriter"):
        _loss(tmp_path, True, STRATEGIES["mirrored"])
    assert "`emb` stays a variable: MirroredStrategy copies it to each of 2 replicas" in caplog.text
    assert dict(tf.train.list_variables(str(tmp_path)))["emb"] == [ROWS, 2]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
def test_a_ready_op_of_the_program_does_not_wait_for_slots(use_resource: bool) -> None:
    with tf.Graph().as_default():
        table = v1.get_variable("emb", [ROWS, 2], use_resource=use_resource)
        step = v1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.nn.embedding_lookup(table, [1, 2])))
        scaffold = v1.train.Scaffold(
            init_op=v1.global_variables_initializer(), ready_op=v1.report_uninitialized_variables()
        )
        hook = GraphModifierHook()
        with v1.train.MonitoredSession(v1.train.ChiefSessionCreator(scaffold), [hook]) as session:
            session.run(step)
    assert hook.plan is not None and len(hook.plan.tables) == 1
