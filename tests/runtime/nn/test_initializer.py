"""Distributions of initializers, in variables and in tables."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.initializers import initializer_text
from runtime.nn import initializer as init

v1 = tf.compat.v1

#: initializer, shape, and of the distribution: kind, and its limits or its mean and standard deviation.
DISTRIBUTIONS: list[tuple[Any, list[int], str, float, float]] = [
    (init.Constant(0.5), [2, 3], "constant", 0.5, 0),
    (init.Normal(1, 0.1), [50, 60], "normal", 1, 0.1),
    (init.TruncatedNormal(mean=0.5, std=2), [50, 60], "truncated_normal", 0.5, 2),
    (init.Uniform(low=2, high=3), [50, 60], "uniform", 2, 3),
    (init.XavierUniform(), [50, 60], "uniform", -math.sqrt(6 / 110), math.sqrt(6 / 110)),
    (init.XavierUniform(fan_in=1, fan_out=5), [50, 60], "uniform", -1, 1),
    (init.XavierNormal(fan_in=0), [50, 60], "normal", 0, math.sqrt(2 / 60)),
    (init.KaimingUniform(fan_in=6), [50, 60], "uniform", -1, 1),
    (init.KaimingNormal(None, 1.0, "leaky_relu"), [50, 60], "normal", 0, 1 / math.sqrt(50)),
]


@pytest.mark.parametrize(("initializer", "shape", "kind", "a", "b"), DISTRIBUTIONS)
@pytest.mark.each_case
def test_a_table_has_the_same_law(initializer: Any, shape: list[int], kind: str, a: float, b: float) -> None:
    width, found, *limits = initializer_text(initializer.stock(shape), *shape).split(":")
    assert (width, found) == (str(shape[1]), kind)
    np.testing.assert_allclose([float(limit) for limit in limits], [a, b], rtol=1e-12)


@pytest.mark.usefixtures("graph")
def test_values_may_be_a_random_tensor() -> None:
    values = tf.random.uniform([4, 2], 1, 2, tf.float64)
    made = [nn.Embedding(4, 2, 0, weight_attr=init.Assign(values), table=table) for table in (True, False)]
    fixed = nn.Linear(1, 2, weight_attr=init.Assign(tf.constant([[1, 2]])), bias_attr=False)
    nn.LayerList([*made, fixed]).build("m")
    rows = [layer(tf.range(4)) for layer in made]
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        found, kernel = session.run([rows, fixed.weight.variable])
    np.testing.assert_array_equal(found[0], found[1])
    assert not found[0][0].any() and (found[0][1:] >= 1).all() and kernel.tolist() == [[1, 2]]
    with pytest.raises(ValueError, match=r"values of shape \[None, 2\] for a weight of shape \[4, 2\]"):
        init.Assign(v1.placeholder(tf.float32, [None, 2]))([4, 2])


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("value", [0.5, 0.0, 2.7, -1.5])
def test_a_constant_is_cast_as_paddle_does(value: float) -> None:
    """Whatever the dtype of the weight: Paddle casts as C."""
    for dtype in ("bool", "int64", "float32"):
        expected = np.full([2], value).astype(dtype)
        with v1.Session() as session:
            np.testing.assert_array_equal(session.run(init.Constant(value)([2], tf.as_dtype(dtype))), expected)


@pytest.mark.usefixtures("graph")
def test_what_an_initializer_stands_for_elsewhere() -> None:
    """A stock variable takes them, and a layer takes those of TensorFlow."""
    stock = v1.get_variable("stock", [2], initializer=init.Constant(3))
    layer = nn.Linear(1, 2, weight_attr=v1.ones_initializer(), bias_attr=nn.ParamAttr(initializer=init.Assign([1, 2])))
    both = nn.Embedding(3, 1, weight_attr=v1.ones_initializer())
    holder = nn.LayerList([layer, both])
    holder.build("m")
    with v1.Session() as session:
        rows = both(tf.constant([1]))
        session.run(v1.global_variables_initializer())
        assert session.run(stock).tolist() == [3, 3]
        assert session.run(layer(tf.ones([1, 1]))).tolist() == [[2, 3]]
        assert session.run(rows).tolist() == [[1]]
