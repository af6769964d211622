"""`all_rows` beside a stock variable, and what it must leave as it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import ranks
from runtime.optimizers import gradient_descent
from tests.support.ranks import thread_ranks

_v1: Any = tf.compat.v1
_ROWS = np.random.default_rng(3).normal(size=(9, 4)).astype(np.float32)
_IDS = np.array([[3, 1], [3, 8]])
_DISTRIBUTIONS: list[Any] = [
    _v1.random_normal_initializer(stddev=0.3),
    _v1.truncated_normal_initializer(seed=5),
    _v1.random_uniform_initializer(-1, 1),
    _v1.variance_scaling_initializer(),
    _v1.constant_initializer(2.5),
]


def _made(distribution: Any = None, **settings: Any) -> runtime.Table:
    return runtime.create_table(
        tf.int64, 4, "item", distribution or _DISTRIBUTIONS[0], device_vocabulary_size=9, **settings
    )


@pytest.mark.parametrize("distribution", _DISTRIBUTIONS, ids=lambda distribution: type(distribution).__name__)
def test_rows_that_are_not_there_have_the_bits_with_which_they_begin(distribution: Any) -> None:
    table = _made(distribution)
    runtime.sparse_lookup(table, [2, 7])
    read = runtime.all_rows(table, 9).numpy()
    assert int(table.size()) == 2
    assert read.tobytes() == runtime.sparse_lookup(table, np.arange(9)).numpy().tobytes()
    assert read.tobytes() == runtime.all_rows(table).numpy().tobytes()
    assert runtime.all_rows(table, 3, first=5).numpy().tobytes() == read[5:8].tobytes()


def test_a_step_does_not_wait_for_it(graph: tf.Graph) -> None:
    table = _made()
    before = runtime.all_rows(table, 9)
    rows = runtime.sparse_lookup(table, tf.constant([1]))
    step = gradient_descent.create_hash_optimizer(1.0).minimize(tf.reduce_sum(rows), var_list=[table.variable])
    after = runtime.all_rows(table, 9)
    assert not {op.name for op in _behind(step)} & {op.name for read in (before, after) for op in (read.op,)}
    with tf.control_dependencies([step]):
        last = runtime.all_rows(table, 9)
    with _v1.Session() as session:
        session.run(_v1.global_variables_initializer())
        first = session.run(before)
        want = first.copy()
        want[1] -= 1
        np.testing.assert_array_equal(session.run(last), want)


def _behind(op: tf.Operation) -> set[tf.Operation]:
    found, pending = set(), [op]
    while pending:
        one = pending.pop()
        if one not in found:
            found.add(one)
            pending += [*(given.op for given in one.inputs), *one.control_inputs]
    return found


def test_trainable_trains_every_row_and_inserts_it() -> None:
    table, variable = _made(), tf.Variable(tf.zeros([9, 4]))
    variable.assign(runtime.all_rows(table, 9))
    for rows, source in ((lambda: runtime.all_rows(table, 9, trainable=True), table.variable), (None, variable)):
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.sin(rows() if rows else variable))
        pairs = [(tape.gradient(loss, source), source)]
        (gradient_descent.create_hash_optimizer(0.5) if rows else tf.keras.optimizers.SGD(0.5)).apply_gradients(pairs)
    assert int(table.size()) == 9
    np.testing.assert_allclose(runtime.all_rows(table, 9), variable, rtol=1e-6)


def test_a_gradient_through_it_is_an_error_that_names_the_remedy(graph: tf.Graph) -> None:
    table = _made()
    loss = tf.reduce_sum(runtime.all_rows(table, 9))
    with pytest.raises(LookupError, match="table `item` has no gradient: call it with trainable=True"):
        tf.gradients(loss, [table.variable])
    rows = runtime.sparse_lookup(table, [1])
    constant = tf.reduce_sum(tf.stop_gradient(runtime.all_rows(table, 9)) * rows)
    assert tf.gradients(constant, [table.variable])[0] is not None


def test_counted_tables_are_only_read_whatever_lookups_do(graph: tf.Graph) -> None:
    for number, rules in enumerate((runtime.KeyRules(), runtime.KeyRules(lookups_create=True))):
        table = runtime.create_counted_table(f"ev{number}", 4, rules=rules)
        read = runtime.all_rows(table, 9)
        looked = runtime.sparse_lookup(table, tf.range(9, dtype=tf.int64))
        with _v1.Session() as session:
            session.run([_v1.global_variables_initializer(), _v1.tables_initializer()])
            rows = session.run(read)
            assert session.run(table.size()) == 0
            np.testing.assert_array_equal(rows, session.run(looked))


@pytest.mark.parametrize("placement", ["distributed", "localized:1", "replicated"])
def test_each_rank_gets_all_rows(placement: str) -> None:
    def read() -> list[Any]:
        table = runtime.table_of_rows(_ROWS, "item", placement)
        return [ranks.rank(), runtime.all_rows(table, 9).numpy(), int(table.size())]

    for _, rows, held in thread_ranks.run(2, read)[0]:
        np.testing.assert_array_equal(rows, _ROWS)
        assert held <= 9


@pytest.mark.parametrize(
    "given", [{"size": 0}, {"size": 2.0}, {"first": 2**63}, {"first": 2**63 - 4}, {"trainable": 1}]
)
def test_arguments_out_of_range_are_refused(given: dict[str, Any]) -> None:
    table = _made()
    with pytest.raises(ValueError, match=next(iter(given))):
        runtime.all_rows(table, **given)
    assert int(table.size()) == 0


def test_a_fetch_in_a_loop_adds_ops_once(graph: tf.Graph) -> None:
    table = runtime.table_of_rows(_ROWS, "item")
    step = gradient_descent.create_hash_optimizer(0.5).minimize(
        tf.reduce_sum(runtime.sparse_lookup(table, tf.constant(_IDS))), var_list=[table.variable]
    )
    with _v1.Session() as session:
        session.run([_v1.global_variables_initializer(), _v1.tables_initializer()])
        with tf.control_dependencies([step]), tf.name_scope("loop"):
            session.run(runtime.all_rows(table, 9, once=True))
        ops = len(graph.get_operations())
        before = session.run(runtime.all_rows(table, 9, once=True))
        assert before.tobytes() == _ROWS.tobytes()  # the first read waited for no step
        session.run(step)
        with tf.Graph().as_default():
            after = session.run({"rows": runtime.all_rows(table, 9, once=True)})["rows"]
        assert len(graph.get_operations()) == ops and after[3, 0] != before[3, 0]
        assert session.run(runtime.all_rows(table, 2, first=3, once=True)).tobytes() == after[3:5].tobytes()
    with pytest.raises(ValueError, match="leave it False where `trainable` is True"):
        runtime.all_rows(table, 9, trainable=True, once=True)
    with pytest.raises(ValueError, match="`vector` is for tables of width 1: `item` has 4 columns"):
        runtime.all_rows(table, 9, vector=True)
