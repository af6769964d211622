"""`TableRules`: when ids of an embedding get rows, when rows go, and what bounds the table."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn.training.evictions import Evictions

v1 = tf.compat.v1


def started() -> v1.Session:
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    return session


def embedding(rules: nn.TableRules, **given: Any) -> nn.Embedding:
    layer = nn.Embedding(10, 2, weight_attr=nn.initializer.Constant(1.0), table=rules, **given)
    layer.build("m")
    return layer


@pytest.mark.usefixtures("graph")
def test_ids_are_admitted_with_a_probability_and_evicted() -> None:
    layer, ids = embedding(nn.TableRules(admission_probability=0.5, eviction=60)), v1.placeholder(tf.int64, [None])
    rows, size = layer(ids), layer.weight.table.size()
    with started() as session:
        shares = [session.run(rows, {ids: np.arange(1000)})[:, 0].mean() for _ in range(3)]
        np.testing.assert_allclose(shares, [0.5, 0.75, 0.875], atol=0.06)
        assert session.run(size) == round(1000 * shares[-1])


@pytest.mark.usefixtures("graph")
def test_rows_that_are_not_seen_are_evicted(monkeypatch: pytest.MonkeyPatch) -> None:
    now = v1.placeholder_with_default(np.float64(1000.0), [])
    monkeypatch.setattr(tf, "timestamp", lambda: now)
    clock = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: clock[0])
    layer, ids = embedding(nn.TableRules(eviction=60)), v1.placeholder(tf.int64, [None])
    rows, size = layer(ids), layer.weight.table.size()
    evictions = Evictions()
    with started() as session:
        evictions.start(session)
        session.run(rows, {ids: [1, 2], now: 1000.0})
        session.run(rows, {ids: [2, 3], now: 1070.0})
        clock[0] = 59.0
        evictions.after_step(session)
        assert session.run(size) == 3
        clock[0] = 61.0
        evictions.after_step(session)
        assert session.run(size) == 2
