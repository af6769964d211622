"""`create_table`: argument rules, names, reuse, and what is refused."""

from __future__ import annotations

import logging
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table

_GOOD: dict[str, Any] = {
    "key_dtype": tf.int64,
    "dim": 4,
    "name": "user",
    "emb_initializer": tf.compat.v1.zeros_initializer(),
}


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"key_dtype": tf.float32}, "`key_dtype` must be tf.int64 or tf.int32"),
        ({"dim": 0}, "`dim` is less than 1"),
        ({"dim": 8193}, "`dim` is bigger than 8192"),
        ({"dim": "4"}, "Invalid parameter type of para `dim`"),
        ({"dim": tf.TensorShape([2, 2])}, "TensorShape of one known dimension"),
        ({"dim": tf.TensorShape([None])}, "TensorShape of one known dimension"),
        ({"name": 3}, "`name` is not str"),
        ({"name": ""}, "length is less than 1"),
        ({"name": "n" * 101}, "length is bigger than 100"),
        ({"name": "/.-"}, "no letter"),
        ({"name": "_user"}, "underscore"),
        ({"emb_initializer": None}, "cannot initialize rows by key"),
        ({"device_vocabulary_size": 0}, "is less than 1"),
        ({"device_vocabulary_size": 10**9 + 1}, "is bigger than 1000000000"),
        ({"is_save": 1}, "Invalid parameter type of para `is_save`"),
        ({"init_param": 1}, "`init_param` is not float"),
        ({"init_param": 10.5}, "is bigger than 10"),
        ({"init_param": float("nan")}, "is not a number"),
        ({"all2all_gradients_op": "mean"}, "must be one of"),
        ({"padding_keys": [2**63]}, "is bigger than 9223372036854775807"),
        ({"padding_keys": "0"}, "Invalid parameter type of para `padding_keys`"),
        ({"value_dtype": tf.float64}, "`value_dtype` must be tf.float32, tf.bfloat16 or tf.float16"),
        ({"value_dtype": tf.bfloat16, "device": "/cpu:0"}, "rows on a device are float32"),
    ],
)
def test_refuses(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        runtime.create_table(**{**_GOOD, **changed})
    assert runtime.tables() == []


@pytest.mark.usefixtures("graph")
def test_table_says_what_it_was_given() -> None:
    table = runtime.create_table(**{**_GOOD, "dim": tf.TensorShape([np.int64(6)]), "device_vocabulary_size": 50})
    assert (table.dim, table.emb_size, table.embedding_size.as_list()) == (6, 6, [6])
    assert (table.table_name, table.key_dtype, table.is_save, table.init_param) == ("user", tf.int64, True, 1.0)
    assert table.capacity() == table.device_vocabulary_size == 50
    assert runtime.tables() == [table]
    assert runtime.get_dense_and_sparse_variable() == ([], [table.variable])


@pytest.mark.usefixtures("graph")
def test_a_list_of_variables_and_tables_is_taken_apart() -> None:
    first, second, counted = make_table("first"), make_table("second"), runtime.create_counted_table("counted", 4)
    one, two = (tf.compat.v1.get_variable(name, []) for name in ("one", "two"))
    given = {"b": one, "t": [second, two], "x": (first.variable, counted)}.values()
    found = runtime.get_dense_and_sparse_variable(given)
    assert [[v.name for v in half] for half in found] == [
        ["one:0", "two:0", counted.variable.name],
        ["second:0", "first:0"],
    ]
    assert found[1][0] is second.variable
    assert runtime.get_dense_and_sparse_variable([]) == ([], [])


@pytest.mark.usefixtures("graph")
def test_characters_that_no_table_name_has_are_removed_with_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, logger="runtime"):
        assert make_table("user/emb.v2").table_name == "userembv2"
    assert "userembv2" in caplog.text


@pytest.mark.usefixtures("graph")
def test_anchor_has_the_table_name_whatever_the_scopes() -> None:
    with tf.compat.v1.variable_scope("user"), tf.name_scope("inner"):
        table = make_table("user")
    assert (table.variable.name, table.variable.op.name, table.variable.shape.as_list()) == ("user:0", "user", [0, 4])
    assert not table.variable.trainable
    assert table.variable in tf.compat.v1.get_collection("ASCEND_GLOBAL_HASHTABLE_COLLECTION")
    assert isinstance(table.variable, tf.Variable)


@pytest.mark.usefixtures("graph")
def test_a_name_serves_once() -> None:
    make_table("user")
    with pytest.raises(ValueError, match="exists in this graph already"):
        make_table("user")
    tf.compat.v1.get_variable("item", [3])
    with pytest.raises(ValueError, match="has an operation `item` already"):
        make_table("item")


@pytest.mark.usefixtures("graph")
def test_an_op_of_the_same_name_gets_another() -> None:
    make_table("user")
    assert tf.identity(1, name="user").op.name == "user_1"
    with tf.name_scope("scope"):
        make_table("item")
    assert tf.identity(1, name="item").op.name == "item_1"


@pytest.mark.usefixtures("graph")
def test_reuse_gives_the_table_that_exists() -> None:
    scope = tf.compat.v1.variable_scope
    with scope("tower", reuse=tf.compat.v1.AUTO_REUSE):
        table = make_table("user")
    with scope("tower", reuse=True):
        assert make_table("user") is table
        with pytest.raises(ValueError, match="dim 5, int64 keys and float32 values but has dim 4"):
            make_table("user", dim=5)
        with pytest.raises(ValueError, match="does not exist"):
            make_table("item")


@pytest.mark.usefixtures("graph")
def test_a_table_keeps_within_its_memory() -> None:
    with pytest.raises(ValueError, match="`max_bytes` is less than 1"):
        make_table("none", max_bytes=0)
    table = make_table("small", max_bytes=100_000)
    few, many = tf.range(100, dtype=tf.int64), tf.range(10_000, dtype=tf.int64)
    kept, refused = runtime.sparse_lookup(table, few), runtime.sparse_lookup(table, many)
    with tf.compat.v1.Session() as opened:
        opened.run(tf.compat.v1.global_variables_initializer())
        rows = opened.run(kept)
        with pytest.raises(tf.errors.ResourceExhaustedError, match=r"table 'small' would need .* max_bytes of 100000"):
            opened.run(refused)
        np.testing.assert_array_equal(opened.run(kept), rows)
        assert opened.run(table.size()) == 100
