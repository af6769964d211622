"""Padding keys: their rows are inserted and read as others, and no update changes value or slots."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adagrad, gradient_descent, lazy_adam
from tests.support.runtime.tables import make_table, rows_of, session

pytestmark = pytest.mark.usefixtures("graph")
KEYS = [-(2**63), -1, 0, 1, 2, 2**63 - 1]
PADDING = [-(2**63), 0, 2**63 - 1]


def padded(name: str, keys: Any) -> runtime.Table:
    return make_table(name, padding_keys=keys)


@pytest.mark.parametrize("module", [adagrad, gradient_descent, lazy_adam], ids=lambda module: module.__name__)
@pytest.mark.parametrize("kind", ["single", "pooled", "grouped"])
def test_only_the_other_rows_are_trained(module: Any, kind: str) -> None:
    ids = [*KEYS, *KEYS[:2], 5]
    losses, tables = [], [padded("padded", PADDING), make_table("plain")]
    for table in tables:
        if kind == "pooled":
            rows = runtime.embedding_lookup_sparse(table, tf.ragged.constant([ids], tf.int64), negative_keys=True)
        elif kind == "grouped":
            (rows,) = runtime.grouped_lookup([(table, tf.constant(ids, tf.int64))])
        else:
            rows = runtime.sparse_lookup(table, tf.constant(ids, tf.int64))
        losses.append(tf.reduce_sum(rows) + 1.0)
    step = module.create_hash_optimizer(0.1).minimize(tf.add_n(losses))
    with session() as opened:
        opened.run(tables[1].import_rows([*KEYS, 5], runtime.sparse_lookup(tables[0], [*KEYS, 5], is_train=False)))
        before = rows_of(opened, tables[0], KEYS)
        for _ in range(3):
            opened.run(step)
        assert opened.run(tables[0].size()) == 7
        trained, wanted = (rows_of(opened, table, KEYS) for table in tables)
        keys, _, slots, _ = opened.run(tables[0].snapshot())
    padding = np.isin(KEYS, PADDING)
    np.testing.assert_array_equal(trained[padding], before[padding])
    np.testing.assert_array_equal(trained[~padding], wanted[~padding])
    assert (trained[~padding] != before[~padding]).all()
    start = 0.9 if module is adagrad else 0.0
    assert (slots[np.isin(keys, PADDING)] == np.float32(start)).all()
    assert slots.shape[1] == 0 or (slots[~np.isin(keys, PADDING)] != np.float32(start)).any(1).all()


def test_a_table_says_its_padding_keys_and_one_may_be_given_alone() -> None:
    table = padded("user", 3)
    assert table.padding_keys == (3,)
    plain = make_table("plain")
    assert plain.padding_keys == ()


def test_padding_survives_growth_reset_and_restored_rows() -> None:
    table = padded("user", [0])
    rows = runtime.sparse_lookup(table, tf.range(3000) % 2000)
    step = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(rows))
    imported = table.import_rows([0], np.full([1, 4], 5.0))
    with session() as opened:
        for _ in range(2):
            opened.run(step)
            opened.run(imported)
            opened.run(step)
            np.testing.assert_array_equal(rows_of(opened, table, [0]), np.full([1, 4], 5.0))
            opened.run(tf.compat.v1.global_variables_initializer())
