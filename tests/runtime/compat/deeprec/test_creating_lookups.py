"""`install(lookups_create=True)`: look-ups create, count and admit keys, as in DeepRec's releases until 2022."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

# Occurrences of keys 1, 2, 3 and 4.
_BATCH = [1, 1, 1, 1, 2, 2, 2, 3, 3, 4]


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


@pytest.mark.parametrize("parts", [1, 3])
def test_updates_train_what_look_ups_admitted_and_count_nothing(old: Any, parts: int) -> None:
    with old.variable_scope("", partitioner=old.fixed_size_partitioner(parts) if parts > 1 else None):
        variable = _made(old, filter_option=old.CounterFilter(3), evict_option=old.GlobalStepEvict(9))
    members = list(variable) if parts > 1 else [variable]
    rows = old.nn.embedding_lookup(variable, _BATCH)
    train = old.train.AdagradOptimizer(0.1).minimize(old.reduce_sum(2.0 * rows), old.train.get_or_create_global_step())
    known = [[part.get_frequency([1, 2, 3, 4]), part.get_version([1, 2, 3, 4, 5])] for part in members]
    with _session(old) as session:
        first, _ = session.run([rows, train])
        assert not first.any()
        second, _ = session.run([rows, train])
        # Gradients are 2 times the occurrences, accumulators begin with 0.1.
        expected = [1 - 0.1 * g / np.sqrt(0.1 + g * g) for g in (8.0, 6.0)]
        np.testing.assert_allclose(second[[0, 4], 0], expected, rtol=1e-6)
        assert not second[7:].any()
        counts, steps = (np.max(own, 0).tolist() for own in zip(*session.run(known), strict=True))
        assert counts == [8, 6, 4, 2]
        assert steps == [1, 1, 1, 1, 0]  # 0 of a key that never came, as in the tests of 2022


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
