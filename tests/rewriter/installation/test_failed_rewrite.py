"""A fault of the rewriter is said, and the program runs as it ran before."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.installation import graphs

v1 = tf.compat.v1


def test_a_fault_of_the_rewriter_does_not_end_the_program(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fails(*_: object) -> None:
        raise KeyError("an op that nobody knows")

    monkeypatch.setattr(graphs, "rewrite_and_view", fails)
    installed = rewriter.install()
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            table = v1.get_variable("table", initializer=np.ones([3, 2], np.float32))
            step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(tf.gather(table, [1])))
            session.run(v1.global_variables_initializer())
            session.run(step)
            assert session.run(table).tolist() == [[1, 1], [0.5, 0.5], [1, 1]]
    finally:
        installed.remove()
    assert "a graph stays as it is, because its rewrite failed: KeyError" in caplog.text and not installed.tables
