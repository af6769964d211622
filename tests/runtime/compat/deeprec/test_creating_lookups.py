"""`install(lookups_create=True)`: look-ups create, count and admit keys, as in DeepRec's releases until 2022."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec


@pytest.fixture
def old() -> Iterator[Any]:
    """TensorFlow with the names of DeepRec until 2022, in a fresh v1 graph."""
    deeprec.install(lookups_create=True)
    try:
        with tf.Graph().as_default():
            yield tf
    finally:
        deeprec.uninstall()


def _made(old: Any, initializer: Any = None, **options: Any) -> Any:
    initial = initializer or old.ones_initializer(old.float32)
    return old.get_embedding_variable("user", 3, initializer=initial, ev_option=old.EmbeddingVariableOption(**options))


def _session(old: Any) -> Any:
    session = old.Session()
    session.run(old.global_variables_initializer())
    return session


@pytest.mark.parametrize("bloom", [False, True])
def test_a_key_is_read_after_as_many_look_ups_as_the_filter_says(old: Any, bloom: bool) -> None:
    chosen = old.CBFFilter(3, 10, 0.01) if bloom else old.CounterFilter(3)
    init = old.InitializerOption(default_value_no_permission=0.5)
    variable = _made(old, filter_option=chosen, init_option=init)
    rows = old.nn.embedding_lookup(variable, [7])
    with _session(old) as session:
        assert [session.run(rows)[0, 0] for _ in range(5)] == [0.5, 0.5, 0.5, 1, 1]


def test_five_steps_are_those_of_a_variable(old: Any) -> None:
    variable = _made(old)
    stock = old.get_variable("stock", [10, 3], initializer=old.ones_initializer(old.float32))
    optimizer, ids = old.train.AdagradOptimizer(0.1), [0, 1, 1, 5, 9]
    read = [old.nn.embedding_lookup(one, ids) for one in (variable, stock)]
    train = optimizer.minimize(old.add_n([old.reduce_sum(one * one) for one in read]))
    with _session(old) as session:
        for _ in range(5):
            ours, expected, _ = session.run([*read, train])
            np.testing.assert_allclose(ours, expected, rtol=1e-6)
