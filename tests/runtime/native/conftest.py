"""Fixtures of the op tests; what tests import is in native_helpers.py."""

from __future__ import annotations

import pytest
import tensorflow as tf

from tests.support.raw_table import RawTable


@pytest.fixture
def graph() -> tf.Graph:
    """A fresh v1 graph."""
    return tf.Graph()


@pytest.fixture
def table(graph: tf.Graph) -> RawTable:
    """A table of dim 2 with normal initial rows."""
    return RawTable(graph)
