"""The ops that take rows from a checkpoint, under mutated tensors: they accept or refuse, and never crash."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.native import ops
from tests.support.raw_table import RawTable, update

pytestmark = pytest.mark.one_version

v1 = tf.compat.v1
_PARTS = ("keys", "values", "slots", "meta")
_RULES = ("sgd", "adagrad", "lazy_adam")
_REFUSALS = (tf.errors.InvalidArgumentError, tf.errors.ResourceExhaustedError)


def _mutated(random: np.random.Generator, valid: dict[str, Any]) -> dict[str, Any]:
    """Return `valid` with one to three changes of shape or content."""
    rows = {part: array.copy() for part, array in valid.items()}
    for _ in range(random.integers(1, 4)):
        part = _PARTS[random.integers(4)]
        array = rows[part]
        change = random.integers(6)
        if change == 0:
            rows[part] = array[: random.integers(0, len(array) + 1)] if array.ndim else array
        elif change == 1:
            rows[part] = array.reshape(-1) if random.integers(2) else array[None]
        elif change == 2 and array.ndim == 2:
            rows[part] = array[:, : random.integers(0, array.shape[1] + 1)]
        elif change == 3 and array.ndim:
            rows[part] = np.concatenate([array, array[: random.integers(0, 3)]])
        elif array.size:
            extreme = [0, 1, -1, 2**31, 2**63 - 1, -(2**63)] if array.dtype == np.int64 else [np.nan, np.inf, 0]
            rows[part].flat[random.integers(array.size)] = random.choice(np.array(extreme, array.dtype))
    return rows


@pytest.fixture(params=["rec_table_import", "rec_table_merge"])
def reader(request: pytest.FixtureRequest, graph: tf.Graph) -> Iterator[Any]:
    """A table and a function that feeds it rows."""
    table = RawTable(graph)
    with graph.as_default():
        fed = {part: v1.placeholder(tf.float32 if part in ("values", "slots") else tf.int64) for part in _PARTS}
        op = _op(request.param, table, fed)
        snapshot = _op("rec_table_snapshot", table, {})
    take = table.session.make_callable(op, list(fed.values()))
    yield table, lambda rows: take(*(rows[part] for part in _PARTS)), lambda: table.session.run(snapshot)


def _op(name: str, table: RawTable, inputs: dict[str, Any]) -> Any:
    return getattr(ops(), name)(table.handle, *inputs.values())


@pytest.mark.parametrize("rule", _RULES)
def test_mutated_rows_are_taken_or_refused(reader: Any, rule: str) -> None:
    table, take, snapshot = reader
    other = RawTable(table.graph, "other")
    update(other, rule, np.arange(6), np.ones([6, 2]))
    valid = other.run("rec_table_snapshot")._asdict()
    random = np.random.default_rng(_RULES.index(rule))
    taken = refused = 0
    for _ in range(300):
        before, rows = snapshot(), _mutated(random, valid)
        try:
            take(rows)
            taken += 1
        except _REFUSALS:
            refused += 1
            for got, wanted in zip(snapshot(), before, strict=True):
                np.testing.assert_array_equal(got, wanted)
            continue
        got = snapshot()
        assert set(rows["keys"].tolist()) <= set(got.keys.tolist())
        assert got.values.shape == (len(got.keys), 2) and got.slots.shape == (len(got.keys), 2 * got.meta[3])
    assert taken > 20 and refused > 100
    take(valid)
    assert table.read(np.arange(6)).tolist() == other.read(np.arange(6)).tolist()
