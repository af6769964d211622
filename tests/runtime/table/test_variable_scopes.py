"""`scoped_name` and `scoped_initializer` against `get_variable` in the same scopes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tensorflow

import runtime

tf = tensorflow.compat.v1


def _table(name: str = "w") -> Any:
    return runtime.create_table(tf.int64, 4, runtime.scoped_name(name), runtime.scoped_initializer(), 50)


def _variable(name: str = "w") -> Any:
    return tf.get_variable(name, [50, 4])


def test_numbered_names_are_those_of_variables() -> None:
    def each(make: Callable[[str], str]) -> list[str]:
        with tf.Graph().as_default():
            tf.constant(1.0, name="op")
            names = [make("w"), make("W"), make("op")]
            for _ in range(2):
                with tf.variable_scope("a"):
                    names += [make("w"), make("w")]
            return names

    def table(name: str) -> str:
        return runtime.create_table(tf.int64, 4, runtime.unique_name(name), tf.zeros_initializer(), 9).table_name

    names = each(lambda name: tf.Variable(tf.zeros([9, 4]), name=name).op.name)
    assert each(table) == [name.replace("/", "_") for name in names]
    assert len({*names}) == len(names)


@pytest.mark.parametrize(
    "made", [None, tf.random_uniform_initializer(-3, 3), tf.zeros_initializer(), tf.ones_initializer]
)
def test_rows_begin_as_those_of_the_variable(made: Any) -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(1)
        with tf.variable_scope("a", initializer=made):
            table, variable = _table(), tf.get_variable("v", [50, 4])
        rows = runtime.sparse_lookup(table, np.arange(50))
        session.run(tf.global_variables_initializer())
        mine, stock = session.run([rows, variable])
    assert abs(mine.std() - stock.std()) < 0.15 * max(stock.std(), 1e-9)
    assert abs(mine.mean() - stock.mean()) < 0.25 * max(stock.std(), 1e-9)
    assert np.abs(mine).max() <= np.abs(stock).max() * 1.1 + 1e-9


def test_what_get_variable_refuses_is_refused() -> None:
    for make in (_variable, _table):
        with tf.Graph().as_default():
            make()
            with pytest.raises(ValueError, match="w"):
                make()
            with tf.variable_scope("new", reuse=True), pytest.raises(ValueError, match="w"):
                make()


def test_two_variables_never_share_a_table() -> None:
    with tf.Graph().as_default(), tf.variable_scope("a_b", reuse=tf.AUTO_REUSE):
        _table("c")
        with tf.variable_scope(tf.VariableScope(tf.AUTO_REUSE, name="a")), pytest.raises(ValueError, match="a_b/c"):
            _table("b/c")
    with tf.Graph().as_default(), tf.variable_scope("", reuse=tf.AUTO_REUSE):
        runtime.create_table(tf.int64, 4, "a_w", tf.zeros_initializer())
        with tf.variable_scope("a"), pytest.raises(ValueError, match="another variable"):
            _table()


@pytest.mark.parametrize("option", ["regularizer", "custom_getter", "constraint", "partitioner"])
def test_a_scope_that_does_more_is_refused(option: str) -> None:
    given = {option: lambda *args, **more: None}
    with tf.Graph().as_default(), tf.variable_scope("a", **given), pytest.raises(ValueError, match=option):
        _table()
    with tf.Graph().as_default(), tf.variable_scope("a", dtype=tf.float64), pytest.raises(ValueError, match="float32"):
        _table()
