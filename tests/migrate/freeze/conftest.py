"""A graph of a test's own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """A fresh default graph."""
    with tf.Graph().as_default() as fresh:
        yield fresh
