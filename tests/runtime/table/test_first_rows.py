"""Tables that begin with the rows of a matrix, and tables that are not trained, beside stock variables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.optimizers import adam

_V1 = tf.compat.v1
_MATRIX = np.random.RandomState(5).normal(size=(6, 3))
_INITIALIZERS: dict[str, Callable[[], Any]] = {
    "v1, an array of float64": lambda: _V1.constant_initializer(_MATRIX),
    "v1, a shorter list": lambda: _V1.constant_initializer([1.0, 2.0, 3.0]),  # its last value fills the rest
    "v2": lambda: tf.constant_initializer(_MATRIX.astype(np.float32)),
    "Keras": lambda: tf.keras.initializers.Constant(_MATRIX),
    "Keras 2, flat": lambda: tf.keras.initializers.Constant(_MATRIX.reshape(-1)),
}
_CASES = [
    pytest.param(made, id=name, marks=[pytest.mark.one_version] if "Keras 2" in name else [])
    for name, made in _INITIALIZERS.items()
]


def _table(initializer: Any, **options: Any) -> runtime.Table:
    return runtime.create_table(tf.int64, 3, "w", initializer, device_vocabulary_size=6, **options)


@pytest.mark.parametrize("made", _CASES)
def test_a_constant_matrix_makes_the_rows_that_it_makes_of_a_variable(made: Callable[[], Any]) -> None:
    with tf.Graph().as_default(), _V1.Session() as session:
        variable = _V1.get_variable("v", [6, 3], initializer=made())
        table = _table(made())
        rows = runtime.sparse_lookup(table, [0, 1, 2, 3, 4, 5, 9], is_train=False)
        session.run(_V1.global_variables_initializer())
        want, found, size = session.run([variable, rows, table.size()])
    np.testing.assert_array_equal(found, [*want, [0, 0, 0]])
    assert size == 6


def test_the_graph_holds_a_matrix_once_as_float32() -> None:
    matrix = np.random.RandomState(1).normal(size=(4000, 25))
    made = {
        "create_table": lambda: runtime.create_table(tf.int64, 25, "w", tf.constant_initializer(matrix), 4000),
        "table_of_rows": lambda: runtime.table_of_rows(matrix, "w"),
    }
    for make in made.values():
        with tf.Graph().as_default() as graph:
            make()
        assert 1 < graph.as_graph_def().ByteSize() / (4 * matrix.size) < 1.1


def test_a_reused_table_keeps_its_rows() -> None:
    with tf.Graph().as_default(), _V1.Session() as session:
        with _V1.variable_scope("s", reuse=_V1.AUTO_REUSE):
            first, second = (_table(_V1.constant_initializer(_MATRIX), trainable=flag) for flag in (True, False))
        session.run(_V1.global_variables_initializer())
        assert first is second
        assert first.trainable  # as the first call says, like a variable
        assert session.run(first.size()) == 6


def test_what_is_not_trained_is_not_listed_and_cannot_be() -> None:
    with tf.Graph().as_default():
        table = runtime.table_of_rows(_MATRIX, "w", trainable=False)
        loss = tf.reduce_sum(runtime.sparse_lookup(table, [1]))
        assert tf.gradients(loss, [table.variable]) == [None]
        assert runtime.get_dense_and_sparse_variable() == ([], [])
        with pytest.raises(ValueError, match="`w` was made with trainable=False and cannot be trained"):
            runtime.get_dense_and_sparse_variable([table])
        with pytest.raises(ValueError, match="no trainable table"):
            adam.create_hash_optimizer(0.1).minimize(loss)


@pytest.mark.parametrize("flag", [None, True, 1, np.True_])
def test_a_flag_means_what_it_means_for_a_variable(flag: Any) -> None:
    assert runtime.table_of_rows(_MATRIX, "w", trainable=flag).trainable


@pytest.mark.usefixtures("graph")
def test_what_it_excludes() -> None:
    with pytest.raises(ValueError, match="`trainable=False` and `device` exclude each other"):
        _table(_V1.zeros_initializer(), trainable=False, device="/cpu:0")
    with pytest.raises(ValueError, match="Invalid parameter type of para `trainable`"):
        _table(_V1.zeros_initializer(), trainable="no")


def _reset_between_steps(make: Callable[[], tuple[Any, Any, Any, Any]]) -> tuple[list[float], np.ndarray]:
    """Train two steps, set all rows, train two more; return the losses and the rows at last."""
    with tf.Graph().as_default():
        fed = _V1.placeholder(tf.float32, [None, 3])
        loss, step, rows, assign = make()
        assigned = assign(fed)
        with _V1.Session() as session:
            session.run(_V1.global_variables_initializer())
            losses = [session.run([loss, step])[0] for _ in range(2)]
            session.run(assigned, {fed: _MATRIX})
            losses += [session.run([loss, step])[0] for _ in range(2)]
            return losses, session.run(rows)


def test_rows_that_are_set_while_training_keep_the_state_of_the_optimizer() -> None:
    ids = tf.constant([1, 3, 3], tf.int64)

    def stock() -> tuple[Any, Any, Any, Any]:
        variable = _V1.get_variable("w", [6, 3], initializer=_V1.ones_initializer())
        loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(variable, ids.numpy()) - 3.0))
        step = _V1.train.AdamOptimizer(0.1).minimize(loss)
        return loss, step, variable, lambda fed: variable.assign(tf.ensure_shape(fed, [6, 3]))

    def ours() -> tuple[Any, Any, Any, Any]:
        table = _table(_V1.ones_initializer())
        loss = tf.reduce_sum(tf.square(runtime.sparse_lookup(table, ids.numpy()) - 3.0))
        step = adam.create_hash_optimizer(0.1).minimize(loss)
        return loss, step, runtime.all_rows(table, 6), lambda fed: runtime.set_rows(table, fed, 6)

    (want, rows), (found, held) = _reset_between_steps(stock), _reset_between_steps(ours)
    np.testing.assert_allclose(found, want, rtol=1e-5)
    np.testing.assert_allclose(held, rows, rtol=1e-5)


def test_set_rows_takes_the_whole_matrix_of_its_table_also_outside_of_its_graph() -> None:
    with tf.Graph().as_default() as graph, _V1.Session() as session:
        table, fed = _table(_V1.zeros_initializer(), trainable=False), _V1.placeholder(tf.float32)
        fill = runtime.set_rows(table, fed)
        session.run(_V1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"must be \[6, 3\]"):
            session.run(fill, {fed: _MATRIX[:5]})
        with pytest.raises(ValueError, match=r"have shape \(5, 3\): they must be \[6, 3\]"):
            runtime.set_rows(table, _MATRIX[:5], 6)
        rows = runtime.all_rows(table, 6)
    with tf.Graph().as_default(), _V1.Session(graph=graph) as session:
        with graph.as_default():
            session.run(_V1.global_variables_initializer())
        session.run(runtime.set_rows(table, _MATRIX, 6))
        np.testing.assert_array_equal(session.run(rows), _MATRIX.astype(np.float32))
