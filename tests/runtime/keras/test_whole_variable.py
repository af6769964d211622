"""A variable whose rows lie in a table is a whole variable to code that knows nothing of tables."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.keras.whole_variable import WholeVariable, in_place_of


def slices(*rows: int) -> tf.IndexedSlices:
    return tf.IndexedSlices(tf.fill([len(rows), 2], 0.5), tf.constant(rows))


def gradient(of: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def found(variable: Any) -> Any:
        with tf.GradientTape() as tape:
            value = tf.reduce_sum(of(variable) ** 2)
        result = tape.gradient(value, variable)
        return [isinstance(result, tf.IndexedSlices), tf.convert_to_tensor(result)]

    return found


USES: dict[str, Callable[[Any], Any]] = {
    "sum": tf.reduce_sum,
    "product": lambda v: tf.matmul(v, v, transpose_b=True),
    "arithmetic": lambda v: v * 2 + 1,
    "stacked": lambda v: tf.stack([v, v]),
    "slice": lambda v: v[1:3],
    "gather": lambda v: tf.gather(v, [[3, 0], [3, 3]]),
    "gather_nd": lambda v: tf.gather_nd(v, [[1, 1]]),
    "lookup_of_sparse_ids": lambda v: tf.nn.embedding_lookup_sparse(v, tf.sparse.from_dense([[1, 2]]), None),
    "numpy": lambda v: [v.numpy(), np.asarray(v), v.shape.as_list(), v.dtype.name, v.name, repr(v)],
    "assign": lambda v: v.assign(tf.fill([4, 2], 3.0)),
    "assign_add": lambda v: v.assign_add(tf.fill([4, 2], 3.0)),
    "assign_sub": lambda v: v.assign_sub(tf.fill([4, 2], 3.0)),
    "assign_a_slice": lambda v: v[1:3].assign([[7.0, 8.0], [9.0, 1.0]]),
    "scatter_add": lambda v: v.scatter_add(slices(1, 3, 1)),
    "scatter_sub": lambda v: v.scatter_sub(slices(1, 3, 1)),
    "scatter_mul": lambda v: v.scatter_mul(slices(1, 3, 1)),
    "scatter_div": lambda v: v.scatter_div(slices(1, 3, 1)),
    "scatter_max": lambda v: v.scatter_max(slices(1, 3, 1)),
    "scatter_min": lambda v: v.scatter_min(slices(1, 3, 1)),
    "scatter_update": lambda v: v.scatter_update(slices(1, 3)),
    "scatter_nd_add": lambda v: v.scatter_nd_add([[1, 0], [1, 0]], [2.0, 3.0]),
    "scatter_nd_update": lambda v: v.scatter_nd_update([[1, 0]], [2.0]),
    "gradient_of_the_whole": gradient(lambda v: v * 2),
    "gradient_of_rows": gradient(lambda v: tf.gather(v, [1, 1])),
    "gradient_of_rows_of_the_whole": gradient(lambda v: tf.gather(tf.convert_to_tensor(v), [1, 1])),
    "copied": lambda v: copy.deepcopy(v).assign_add(tf.ones([4, 2])).numpy(),
}


def both(use: Callable[[Any], Any], traced: bool) -> list[Any]:
    found = []
    for whole in (False, True):
        stock = tf.Variable(np.arange(8, dtype=np.float32).reshape(4, 2), name="w")
        variable: Any = in_place_of(stock) if whole else stock
        assert isinstance(variable, WholeVariable) == whole
        result = (tf.function(use) if traced else use)(variable)
        found.append(tf.nest.map_structure(np.asarray, [result, variable.numpy()]))
    return found


@pytest.mark.parametrize("name", USES)
def test_a_use_of_it_gives_what_a_variable_gives(name: str) -> None:
    stock, moved = both(USES[name], False)
    tf.nest.map_structure(np.testing.assert_array_equal, stock, moved)


@pytest.mark.parametrize("name", ["sum", "gather", "gradient_of_the_whole", "gradient_of_rows"])
def test_a_use_of_it_in_a_function_does(name: str) -> None:
    def use(variable: Any) -> Any:
        return tf.function(lambda: USES[name](variable))()

    stock, moved = both(use, False)
    tf.nest.map_structure(np.testing.assert_array_equal, stock, moved)


def test_assignments_in_a_function_are_made_in_order() -> None:
    def use(variable: Any) -> Any:
        @tf.function  # type: ignore[untyped-decorator]
        def run() -> Any:
            variable.assign_add(tf.ones([4, 2]))
            before = tf.reduce_sum(variable)
            variable.scatter_add(slices(1, 1))
            return before, tf.reduce_sum(variable)

        return run()

    stock, moved = both(use, False)
    tf.nest.map_structure(np.testing.assert_array_equal, stock, moved)


def test_a_value_of_another_shape_is_refused() -> None:
    variable = in_place_of(tf.Variable(tf.zeros([4, 2])))
    with pytest.raises(ValueError, match="Shape mismatch"):
        variable.assign(tf.zeros([3, 2]))
