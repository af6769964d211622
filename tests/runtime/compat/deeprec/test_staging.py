"""Batches that threads prepare: fed by tensors or by a generator, skipped or ended by errors, joined from sources."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf


def _range(rec: Any, *limits: int) -> Any:
    return rec.data.make_one_shot_iterator(rec.data.Dataset.range(*limits)).get_next()


def _all(rec: Any, tensors: Any) -> list[Any]:
    """Return what each step of a monitored session gets, until the batches end."""
    found = []
    with rec.train.MonitoredTrainingSession(hooks=[rec.make_prefetch_hook()]) as session:
        while not session.should_stop():
            found.append(session.run(tensors))
    return found


@pytest.mark.parametrize("named", [False, True])
def test_a_generator_feeds_placeholders(rec: Any, named: bool) -> None:
    first, second = rec.placeholder(rec.float32, [None]), rec.placeholder(rec.string, [])

    def generate() -> Iterator[Any]:
        for number in range(3):
            values = [np.full(number, number), f"word{number}"]
            yield {first: values[0], second: values[1]} if named else values

    features = [first + 1.0, rec.strings.length(second)]
    made = rec.staged(features, feed_list=None if named else [first, second], feed_generator=generate(), num_threads=1)
    assert [(a.tolist(), b) for a, b in _all(rec, made)] == [([], 5), ([2.0], 5), ([3.0, 3.0], 5)]


def test_an_error_that_skips_a_batch(rec: Any) -> None:
    checked = rec.debugging.check_numerics(8.0 / rec.cast(_range(rec, 6) - 2, rec.float32), "two")
    skipping = rec.staged(checked, ignored_exception_types=(rec.errors.INVALID_ARGUMENT,))
    assert [float(one) for one in _all(rec, skipping)] == [-4.0, -8.0, 8.0, 4.0, pytest.approx(8 / 3)]


def test_an_error_that_ends_the_batches(rec: Any) -> None:
    checked = rec.debugging.check_numerics(8.0 / rec.cast(_range(rec, 6) - 2, rec.float32), "two")
    ending = rec.staged(checked, closed_exception_types=(rec.errors.InvalidArgumentError,))
    assert [float(one) for one in _all(rec, ending)] == [-4.0, -8.0]


def test_another_error_is_the_programs(rec: Any) -> None:
    given = rec.placeholder(rec.float32, [])
    made = rec.staged(given, feed_list=[given], feed_generator=iter([[1.0], [1.0, 2.0]]))
    with pytest.raises(ValueError, match="yields 2 values, and feed_list has 1: give a value for each"):
        _all(rec, made)


def test_several_threads_and_sources_give_every_batch_once(rec: Any) -> None:
    joined = rec.prefetch_join([_range(rec, 5), _range(rec, 100, 105)], capacity=3)
    assert sorted(int(one) for one in _all(rec, joined)) == [*range(5), *range(100, 105)]


def test_each_thread_takes_another_batch(rec: Any) -> None:
    given = rec.placeholder(rec.int64, [])
    values = _range(rec, 9)
    made = rec.staged(given * 10, feed_dict={given: values}, num_threads=3, capacity=2)
    assert sorted(int(one) for one in _all(rec, made)) == [10 * one for one in range(9)]


def test_a_session_that_ends_before_the_batches_stops_the_threads(rec: Any) -> None:
    given = rec.placeholder(rec.int64, [])
    made = rec.staged(given, feed_list=[given], feed_generator=iter([[one] for one in range(10**6)]))
    with rec.train.MonitoredTrainingSession(hooks=[rec.make_prefetch_hook()]) as session:
        assert [int(session.run(made)) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match="needs at least one source"):
        tf.prefetch_join([])  # type: ignore[attr-defined]
