"""The graph fixture; the models that tests import are in rewriter_models.py."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import tensorflow as tf

tf.compat.v1.logging.set_verbosity(tf.compat.v1.logging.ERROR)


@pytest.fixture
def graph() -> Iterator[tf.Graph]:
    """A fresh default graph."""
    with tf.Graph().as_default() as fresh:
        yield fresh
