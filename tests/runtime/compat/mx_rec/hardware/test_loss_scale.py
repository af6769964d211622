"""Loss scales and names of the hardware's packages that Rec SDK's guide tells programs to take."""

from __future__ import annotations

import importlib
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec
from runtime.compat.mx_rec.hardware import npu
from runtime.compat.mx_rec.hardware.loss_scale import (
    ExponentialUpdateLossScaleManager,
    FixedLossScaleManager,
    NPULossScaleOptimizer,
)
from runtime.optimizers.gradient_descent import create_hash_optimizer

v1 = tf.compat.v1
STEPS = [1.0, 2.0, math.inf, 3.0, math.inf, math.inf, 1.0]


def trained(wrap: Any, factors: list[float] = STEPS) -> tuple[list[Any], Any]:
    """Return weights after each step and the last global step; the gradient is the factor, for a gathered row too."""
    with tf.Graph().as_default(), v1.Session() as session:
        factor = v1.placeholder(tf.float32, [])
        dense = v1.get_variable("dense", initializer=[1.0, 2.0], use_resource=True)
        rows = v1.get_variable("rows", initializer=[[1.0], [2.0]], use_resource=True)
        loss = factor * (tf.reduce_sum(dense) + tf.reduce_sum(tf.nn.embedding_lookup(rows, [1, 1])))
        optimizer = wrap(v1.train.MomentumOptimizer(0.125, 0.5))
        step = v1.train.get_or_create_global_step()
        train = optimizer.minimize(loss, global_step=step)
        session.run(v1.global_variables_initializer())
        found = []
        for one in factors:
            session.run(train, {factor: one})
            found.append(np.concatenate([session.run(dense), session.run(rows)[:, 0]]))
        return found, session.run(step)


@pytest.mark.parametrize(
    "manager", [lambda: FixedLossScaleManager(1024), lambda: ExponentialUpdateLossScaleManager(2.0**20, 2, 2, 2, 0.5)]
)
@pytest.mark.parametrize("is_distributed", [False, True])
def test_finite_steps_are_those_of_the_optimizer(manager: Any, is_distributed: bool) -> None:
    found, step = trained(lambda inner: NPULossScaleOptimizer(inner, manager(), is_distributed))
    expected, made = trained(lambda inner: inner, [one for one in STEPS if one < math.inf])
    kept = [found[index] for index, one in enumerate(STEPS) if one < math.inf]
    np.testing.assert_array_equal(kept, expected)
    assert step == made == 4
    np.testing.assert_array_equal(found[2], found[1])  # what a step that is not finite leaves


def test_without_the_check_all_steps_are_made() -> None:
    found, step = trained(lambda inner: NPULossScaleOptimizer(inner, FixedLossScaleManager(8.0, False)), STEPS[:3])
    assert not np.isfinite(found[2]).all() and step == 3


def test_the_scale_rises_and_falls() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        manager = ExponentialUpdateLossScaleManager(8.0, 2, decr_every_n_nan_or_inf=2, incr_ratio=4, decr_ratio=0.25)
        finite = v1.placeholder(tf.bool, [])
        update = manager.update_loss_scale(finite)
        session.run(v1.global_variables_initializer())
        scales = []
        for one in [True, True, True, False, True, False, False, False, False, False]:
            session.run(update, {finite: one})
            scales.append(float(session.run(manager.get_loss_scale())))
    # Two finite steps on end raise it; two others since the last change lower it, not below 1.
    assert scales == [8, 32, 32, 32, 32, 8, 8, 2, 2, 2]


def test_a_scale_beyond_float32_is_not_taken() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        manager = ExponentialUpdateLossScaleManager(1e38, 1, incr_ratio=1e10)
        update = manager.update_loss_scale(True)
        session.run(v1.global_variables_initializer())
        session.run(update)
        assert session.run(manager.get_loss_scale()) == np.float32(1e38)


@pytest.mark.parametrize(
    "call",
    [
        lambda: FixedLossScaleManager(0.5),
        lambda: ExponentialUpdateLossScaleManager(8.0, 0),
        lambda: ExponentialUpdateLossScaleManager(8.0, 1, decr_ratio=1.5),
        lambda: NPULossScaleOptimizer("sgd", None),
        lambda: NPULossScaleOptimizer(create_hash_optimizer(0.1), FixedLossScaleManager(8)),
    ],
)
def test_what_is_refused(call: Any) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError):
        call()


def test_slots_and_variables_are_those_inside() -> None:
    with tf.Graph().as_default():
        weight = v1.get_variable("weight", initializer=[1.0], use_resource=True)
        inner = v1.train.MomentumOptimizer(0.1, 0.5)
        outer = NPULossScaleOptimizer(inner, FixedLossScaleManager(8))
        outer.minimize(tf.reduce_sum(weight))
        assert outer.get_slot_names() == ["momentum"] and outer.get_slot(weight, "momentum") is not None
        assert [one.name for one in outer.variables()] == [one.name for one in inner.variables()] != []


def test_the_devices_of_the_hardware_stand_for_tensorflows_own() -> None:
    device = npu.CONTENTS["npu_device"]["open"]()
    with device.as_default() as entered:
        assert entered is device
    options = npu.CONTENTS["npu_device"]["global_options"]()
    options.precision_mode = "allow_mix_precision"
    options.dump_config.enable_dump = "1"
    again = npu.CONTENTS["npu_device"]["global_options"]()
    assert (again.precision_mode, again.dump_config.enable_dump) == ("allow_mix_precision", "1")
    for top in ("npu_bridge", "npu_device.compat.v1"):
        assert npu.CONTENTS[f"{top}.npu_init"]["NPULossScaleOptimizer"] is NPULossScaleOptimizer


@pytest.fixture(autouse=True)
def facade() -> Iterator[None]:
    mx_rec.install()
    yield
    mx_rec.uninstall()


def _has_estimator() -> bool:
    return "estimator" in dir(tf.compat.v1)


@pytest.mark.skipif(not _has_estimator(), reason="TensorFlow 2.16 and later have no estimators")
@pytest.mark.parametrize("module", ["rec_sdk_common.util.tf_adapter", "mx_rec.util.tf_version_adapter"])
def test_adapters_have_the_estimator(module: str) -> None:
    adapter: Any = importlib.import_module(module)
    assert issubclass(adapter.NPUEstimator, tf.compat.v1.estimator.Estimator)
    assert adapter.NPUEstimatorSpec is tf.compat.v1.estimator.EstimatorSpec


@pytest.mark.parametrize("top", ["npu_bridge", "npu_device.compat.v1"])
def test_gelu_and_the_dropout_of_layers(top: str) -> None:
    importlib.import_module(f"{top}.estimator.npu.npu_convert_dropout")
    ops: Any = importlib.import_module(f"{top}.estimator.npu_unary_ops")
    assert importlib.import_module(f"{top}.npu_init").npu_unary_ops is ops.npu_unary_ops
    x = np.linspace(-3, 3, 13, dtype=np.float32)
    expected = 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))
    got = ops.npu_unary_ops.gelu(tf.constant(x))
    if not tf.executing_eagerly():
        got = tf.compat.v1.Session().run(got)
    np.testing.assert_allclose(got, expected, atol=1e-6)
