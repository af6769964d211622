"""What a program does with the variable of a moved layer of Keras where no table can serve it: said, or an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter


@pytest.fixture
def variable() -> Iterator[Any]:
    installed = rewriter.install()
    layer = tf.keras.layers.Embedding(5, 2, embeddings_initializer="ones", name="rows")
    layer(np.array([0, 1]))
    assert list(installed.tables) == ["rows/embeddings"]
    yield getattr(layer.embeddings, "_value", layer.embeddings)
    installed.remove()


RAW: dict[str, Callable[[tf.Tensor], Any]] = {
    "read": lambda handle: tf.raw_ops.ReadVariableOp(resource=handle, dtype=tf.float32),
    "gather": lambda handle: tf.raw_ops.ResourceGather(resource=handle, indices=[0], dtype=tf.float32),
    "assign": lambda handle: tf.raw_ops.AssignVariableOp(resource=handle, value=tf.ones([5, 2])),
    "add": lambda handle: tf.raw_ops.AssignAddVariableOp(resource=handle, value=tf.ones([5, 2])),
    "scatter": lambda handle: tf.raw_ops.ResourceScatterAdd(resource=handle, indices=[0], updates=tf.ones([1, 2])),
    "train": lambda handle: tf.raw_ops.ResourceApplyGradientDescent(var=handle, alpha=0.1, delta=tf.ones([5, 2])),
    "train rows": lambda handle: tf.raw_ops.ResourceSparseApplyAdagrad(
        var=handle, accum=tf.Variable(tf.ones([5, 2])).handle, lr=0.1, grad=tf.ones([1, 2]), indices=[0]
    ),
}


@pytest.mark.parametrize("traced", [False, True])
@pytest.mark.parametrize("name", RAW)
def test_ops_that_take_the_resource_fail_and_say_why(name: str, traced: bool, variable: Any) -> None:
    def use() -> Any:
        given = RAW[name](variable.handle)
        return None if isinstance(given, tf.Operation) else given  # a function returns no op

    if name == "train rows" and traced:
        pytest.skip("a function makes no variable")
    used = tf.function(use) if traced else use
    with pytest.raises(tf.errors.OpError, match=r"`rows/embeddings`, whose rows are in a table: read it by tf\.gather"):
        used()
    assert tf.reduce_sum(variable) == 10


@pytest.mark.parametrize("name", ["gather", "train"])
def test_functions_that_are_given_the_resource_fail_and_say_why(name: str, variable: Any) -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def use(handle: tf.Tensor) -> Any:
        given = RAW[name](handle)
        return None if isinstance(given, tf.Operation) else given

    plain = tf.Variable(tf.ones([5, 2]))
    use(plain.handle)
    assert np.allclose(plain, 1.0 if name == "gather" else 0.9)
    with pytest.raises(tf.errors.OpError, match=r"`rows/embeddings`, whose rows are in a table: read it by tf\.gather"):
        use(variable.handle)
    assert tf.reduce_sum(variable) == 10


def test_a_function_takes_the_variable_as_an_argument(variable: Any) -> None:
    @tf.function  # type: ignore[untyped-decorator]
    def gradient_of(given: list[Any], ids: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(given[0], ids) ** 2)
        return tf.convert_to_tensor(tape.gradient(loss, given)[0])

    for ids in ([1, 1], [1, 1, 1]):
        found = gradient_of([variable], tf.constant(ids))
        assert np.array_equal(found, [[0, 0], [2 * len(ids)] * 2, [0, 0], [0, 0], [0, 0]])


def test_functions_that_xla_would_compile_run_without_it(variable: Any, caplog: pytest.LogCaptureFixture) -> None:
    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def gradient_of(ids: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.gather(variable, ids) ** 2) + 0.0 * tf.reduce_sum(variable)
        return tf.convert_to_tensor(tape.gradient(loss, variable))

    for _ in range(2):
        assert np.array_equal(gradient_of(tf.constant([1, 1])), [[0, 0], [4, 4], [0, 0], [0, 0], [0, 0]])
    assert gradient_of.get_concrete_function(tf.constant([1, 2, 3]))(tf.constant([1, 2, 3])).shape == [5, 2]
    assert caplog.text.count("`gradient_of` is not compiled by XLA, which has no tables: jit_compile is off") == 1


def test_only_functions_that_have_a_table_leave_xla(variable: Any) -> None:
    """Also one that has it by another function, which was traced before; gradients are compiled with their function."""
    dense = tf.Variable(2.0)

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def plain(x: tf.Tensor) -> Any:
        with tf.GradientTape() as tape:
            loss = dense * x
        return tape.gradient(loss, dense)

    @tf.function  # type: ignore[untyped-decorator]
    def inner(ids: tf.Tensor) -> Any:
        return tf.reduce_sum(tf.gather(variable, ids)) * plain(tf.constant(3.0))

    @tf.function(jit_compile=True)  # type: ignore[untyped-decorator]
    def outer(ids: tf.Tensor) -> Any:
        return tf.cond(ids[0] > 0, lambda: inner(ids), lambda: 0.0)

    ids = tf.constant([1, 2])
    assert inner(ids) == outer(ids) == 12.0 and plain(tf.constant(5.0)) == 5.0
    compiled = {
        one: one.get_concrete_function(given).function_def.attr["_XlaMustCompile"].b
        for one, given in ((plain, tf.constant(1.0)), (outer, ids))
    }
    assert compiled == {plain: True, outer: False}
