"""Fixtures of the compatibility tests: TensorFlow with DeepRec's names on it, and a fresh graph."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import tensorflow as tf

from runtime.compat import deeprec


@pytest.fixture
def rec() -> Iterator[Any]:
    """The `tf` module with DeepRec's and TensorFlow 1's names, in a fresh v1 graph."""
    deeprec.install()
    try:
        with tf.Graph().as_default():
            yield tf
    finally:
        deeprec.uninstall()
