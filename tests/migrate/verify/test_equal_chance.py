"""Both programs of a proof draw the same, and the original's optimizers apply the converted trainer's gradients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from migrate.verify.paddle.trainer import following, graph_random_numbers
from migrate.verify.paddle.trainer.random_tensors import Chance
from runtime.nn import functional

pytestmark = pytest.mark.paddle
WEIGHTS = [0.0, 0.5, 3.0, 0.1, 0.4]
#: name -> a call of one of both modules; the last is how its weights become a tensor.
CALLS: dict[str, Callable[[Any, Callable[[Any], Any]], Any]] = {
    "rand": lambda of, tensor: of.rand([3, 2]),
    "uniform": lambda of, tensor: of.uniform([4], min=-3.0, max=0.5),
    "randn": lambda of, tensor: of.randn([2, 2]),
    "normal": lambda of, tensor: of.normal(1.0, 0.5, [3]),
    "normal of tensors": lambda of, tensor: of.normal(tensor(WEIGHTS), 2.0),
    "randint": lambda of, tensor: of.randint(2, 9, [5]),
    "randint below": lambda of, tensor: of.randint(4, shape=[3], dtype="int32"),
    "randint_like": lambda of, tensor: of.randint_like(tensor(WEIGHTS), 1, 7),
    "randperm": lambda of, tensor: of.randperm(6),
    "choices": lambda of, tensor: of.multinomial(tensor(WEIGHTS), 4),
    "choices again": lambda of, tensor: of.multinomial(tensor([WEIGHTS, WEIGHTS[::-1]]), 9, True),
    "bernoulli": lambda of, tensor: of.bernoulli(tensor(WEIGHTS) / 4.0),
}


def test_all_that_is_drawn_is_the_same() -> None:
    with Chance().given():
        expected = [call(paddle, paddle.to_tensor).numpy() for call in CALLS.values()]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session, graph_random_numbers.drawn():
        found = session.run([call(functional, tf.constant) for call in CALLS.values()])
    for name, first, second in zip(CALLS, expected, found, strict=True):
        assert first.dtype == second.dtype, name
        np.testing.assert_allclose(first, second, rtol=1e-6, err_msg=name)
    assert len(set(expected[9])) == 4 and 0 not in expected[9], "an index is drawn once, and never one of weight 0"


def test_paddle_draws_by_itself_afterwards() -> None:
    stock = paddle.rand, paddle.nn.functional.dropout, paddle.Tensor.multinomial
    chance = Chance()
    with chance.given():
        first = paddle.rand([4]).numpy()
    with chance.given():  # counts anew
        np.testing.assert_array_equal(paddle.rand([4]).numpy(), first)
    assert (paddle.rand, paddle.nn.functional.dropout, paddle.Tensor.multinomial) == stock


def test_a_parameter_gets_the_gradient_that_is_given() -> None:
    table, bias = paddle.nn.Embedding(6, 2, sparse=True), paddle.create_parameter([2], "float32")
    idle = paddle.create_parameter([1], "float32")
    parameters = {"table": table.weight, "bias": bias, "idle": idle}
    (table(paddle.to_tensor([1, 4])) * bias).sum().backward()
    rows = np.array([4, 2, 4]), np.array([[1, 2], [3, 4], [5, 6]], np.float32)
    third = np.full([2], 1 / 3, np.float32)
    following.give_gradients(parameters, {"table": rows, "bias": third, "idle": np.ones([1], np.float32)})
    found = following.gradients_of(parameters)
    assert isinstance(found["table"], tuple) and found["idle"] is None, "rows stay rows, and none stays none"
    np.testing.assert_array_equal(following.dense(found["table"], (6, 2))[[2, 4]], [[3, 4], [6, 8]])
    np.testing.assert_array_equal(found["bias"], third)
    following.give_gradients(parameters, {"table": np.ones([6, 2], np.float32)})
    found = following.gradients_of(parameters)
    assert found["bias"].tolist() == [0, 0], "none is given"
    assert sorted(set(found["table"][0])) == [2, 4]
