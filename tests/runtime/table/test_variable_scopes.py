"""Names, scopes and places of tables are those of variables."""

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


class Program:
    """Makes variables; with `tables`, tables in place of those that are called by a table's name."""

    def __init__(self, tables: bool) -> None:
        self.tables = tables
        self.stayed: list[str] = []

    def make(self, name: str | None = None, table: str = "") -> None:
        if table and self.tables:
            runtime.create_table(tf.int64, 4, table, tf.zeros_initializer(), in_place_of=name or "Variable")
            return
        variable = tf.Variable(tf.zeros([3, 4]), name=name)
        if not table:
            self.stayed.append(variable.op.name)


def _without_names(program: Program) -> None:
    for table in ("", "user", "", "", "item", ""):
        program.make(table=table)


def _of_one_name(program: Program) -> None:
    program.make("w", "w")
    program.make("w")
    program.make("W", "V")
    program.make("w")
    program.make("w_1")


def _in_scopes(program: Program) -> None:
    for scope in (tf.name_scope, tf.variable_scope):
        with scope("a"):
            program.make(table=f"first_{scope.__name__}")
            program.make()
            with scope("b"):
                program.make("w", f"second_{scope.__name__}")
                program.make("w")
                program.make("deep/w", f"third_{scope.__name__}")
                program.make("deep/w")
    program.make()
    program.stayed.append(tf.get_variable("a/b/w", [2]).op.name)


def _in_a_loop(program: Program) -> None:
    for _ in range(3):
        with tf.name_scope("layer"):
            program.make("w", runtime.unique_name("w") if program.tables else "w")
            program.make("w")


def _below_an_existing_scope(program: Program) -> None:
    with tf.name_scope("a") as scope:
        pass
    with tf.name_scope(scope):
        program.make("w", "w")
        program.make("w")
    program.make(f"{scope}v/", "v")
    program.make()


def _trained(program: Program) -> None:
    program.make(table="user")
    kernel = tf.Variable(tf.ones([4]))
    tf.get_variable("norm/moving_mean", [4], trainable=False)
    tf.train.get_or_create_global_step()
    tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(kernel), var_list=[kernel])
    stayed = [v for v in tf.global_variables() if not isinstance(v, runtime.table.anchor.Anchor)]
    program.stayed += [v.op.name for v in stayed if v.op.name != "Variable"]


@pytest.mark.parametrize("build", [_without_names, _of_one_name, _in_scopes, _in_a_loop, _below_an_existing_scope])
def test_variables_that_stay_keep_their_names(build: Any) -> None:
    before, after = (_names(build, tables) for tables in (False, True))
    assert before == after
    assert len(before) > 1


def test_and_slots_counters_and_averages_keep_theirs() -> None:
    before, after = (_names(_trained, tables) for tables in (False, True))
    assert before == after
    assert {"Variable_1", "Variable_1/Adam", "beta1_power", "norm/moving_mean"} <= set(before)


def _names(build: Any, tables: bool) -> list[str]:
    program = Program(tables)
    with tf.Graph().as_default():
        build(program)
    return program.stayed


def test_a_reused_table_takes_no_second_name() -> None:
    with tf.Graph().as_default():
        for reuse in (False, True):
            with tf.variable_scope("s", reuse=reuse):
                runtime.create_table(tf.int64, 4, "t", tf.zeros_initializer(), in_place_of="v")
        assert tf.Variable(1.0, name="s/v").op.name == "s/v_1"


def test_a_table_is_new_under_a_scope_that_demands_variables() -> None:
    with tf.Graph().as_default(), tf.variable_scope("s", reuse=True):
        runtime.create_table(tf.int64, 4, "t", tf.zeros_initializer(), in_place_of="v")
        with pytest.raises(ValueError, match="reuse=True"):
            runtime.create_table(tf.int64, 4, "u", tf.zeros_initializer())


@pytest.mark.parametrize("name", ["", " v", "v:0", 3])
def test_other_names_are_refused(name: Any) -> None:
    with pytest.raises(ValueError, match="in_place_of"):
        runtime.create_table(tf.int64, 4, "t", tf.zeros_initializer(), in_place_of=name)
