"""Names of the hardware's packages that Rec SDK's guide tells programs to take."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

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
