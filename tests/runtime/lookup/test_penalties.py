"""Penalties that take tables as well as variables: values, regularizers, the losses of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.lookup.penalties import factors

v1 = tf.compat.v1
KEY = v1.GraphKeys.REGULARIZATION_LOSSES


def _made(name: str = "table", rows: int = 5) -> runtime.Table:
    return runtime.create_table(
        key_dtype=tf.int64, dim=3, name=name, emb_initializer=tf.constant_initializer(-2.0), device_vocabulary_size=rows
    )


def l1_regularizer(scale: float) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def l1(weights: Any, name: str | None = None) -> Any:
        return scale * tf.reduce_sum(tf.abs(weights), name=name)

    return l1


def l2_regularizer(scale: float) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def l2(weights: Any) -> Any:
        return scale * tf.nn.l2_loss(weights)

    return l2 if scale else lambda _: None


def sum_regularizer(regularizer_list: list[Callable[[Any], Any]]) -> Callable[[Any], Any]:
    """As `tf.contrib.layers` makes it."""

    def sum_reg(weights: Any) -> Any:
        tensors = [one(weights) for one in regularizer_list]
        return tf.add_n([tensor for tensor in tensors if tensor is not None])

    return sum_reg


REGULARIZERS = {
    "l1": tf.keras.regularizers.L1(0.5),
    "l2": tf.keras.regularizers.L2(0.25),
    "both": tf.keras.regularizers.L1L2(0.5, 0.25),
    "contrib's l1": l1_regularizer(0.5),
    "contrib's l2": l2_regularizer(0.25),
    "contrib's sum": sum_regularizer([l1_regularizer(0.5), l2_regularizer(0.25)]),
    "contrib's sum of one": sum_regularizer([l1_regularizer(0.5), l2_regularizer(0.0)]),
}


def test_a_table_has_the_norms_of_the_variable_in_whose_place_it_is() -> None:
    table, matrix = _made(), tf.fill([5, 3], -2.0)
    assert float(runtime.l2_loss(table)) == float(runtime.l2_loss(matrix)) == float(tf.nn.l2_loss(matrix))
    assert float(runtime.l1_norm(table)) == float(runtime.l1_norm(matrix)) == 30
    assert table.name == "table:0"


@pytest.mark.parametrize("regularizer", REGULARIZERS.values(), ids=REGULARIZERS)
def test_a_regularizer_of_a_table_is_that_of_its_matrix(regularizer: Callable[[Any], Any]) -> None:
    wanted = float(regularizer(tf.fill([5, 3], -2.0)))
    assert float(runtime.penalty(regularizer, _made())) == pytest.approx(wanted)
    assert float(runtime.penalty(regularizer, tf.fill([5, 3], -2.0))) == pytest.approx(wanted)


@pytest.mark.parametrize("other", [lambda rows: tf.reduce_max(rows), np.max, None])
def test_another_regularizer_is_named(other: Any) -> None:
    assert factors(other) is None
    with pytest.raises(ValueError, match="the table `table` supports L1, L2 and L1L2 of Keras"):
        runtime.penalty(other, _made())


def test_the_losses_of_a_graph_have_the_penalty_of_a_table_once() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        with v1.variable_scope("s", reuse=v1.AUTO_REUSE):
            first, again = (runtime.regularized(_made(), REGULARIZERS["both"]) for _ in range(2))
        assert first is again
        other = runtime.regularized(_made("other"), None)
        assert runtime.regularized(other, l2_regularizer(0.0)) is other
        assert runtime.penalty(l2_regularizer(0.0), other) is None
        [loss] = v1.get_collection(KEY)
        session.run(v1.global_variables_initializer())
        assert session.run(loss) == pytest.approx(0.5 * 30 + 0.25 * 60)


def test_an_eager_table_has_no_losses_of_a_graph() -> None:
    with pytest.raises(ValueError, match="only graphs collect regularization losses"):
        runtime.regularized(_made(), REGULARIZERS["l2"])
