"""Names of the hardware's packages that Rec SDK's guide tells programs to take."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec


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
