"""The float64 reference: a program that says float32 computes in float64, with weights that can be set."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import paddle
import paddle.nn.functional as F
import pytest
from paddle import nn

from migrate.verify.paddle import float64_model

pytestmark = pytest.mark.paddle


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let Paddle compute in float64 during a test."""
    for owner, name, function in float64_model.patches():
        monkeypatch.setattr(owner, name, function)
    paddle.set_default_dtype("float64")
    yield
    paddle.set_default_dtype("float32")


class Made(nn.Layer):
    """Makes weights in all ways, each with its own words for float32."""

    def __init__(self) -> None:
        super().__init__()
        self.plain = self.create_parameter([2, 2])
        self.told = self.create_parameter([2, 2], dtype="float32")
        self.free = paddle.create_parameter([2, 2], "float32")
        self.named = paddle.create_parameter(shape=[2, 2], dtype=paddle.float32)
        self.linear = nn.Linear(2, 2)


@pytest.mark.usefixtures("wide")
def test_weights_that_are_made_as_float32_are_float64_and_take_such_values() -> None:
    model = Made()
    third = np.full([2, 2], 1 / 3)
    for name, weight in model.named_parameters():
        assert weight.dtype == paddle.float64, name
        if weight.shape == [2, 2]:
            weight.set_value(third)
            np.testing.assert_array_equal(weight.numpy(), third)


@pytest.mark.usefixtures("wide")
def test_tensors_that_are_made_as_float32_meet_float64() -> None:
    x = paddle.full([2, 2], 0.5, dtype="float64")
    made = {
        "full": paddle.full(shape=[2, 2], fill_value=1.0, dtype="float32"),
        "zeros": paddle.zeros([2, 2], "float32"),
        "ones_like": paddle.ones_like(x.astype("bool"), dtype="float32"),
        "assign": paddle.assign(np.ones([2, 2], np.float32)),
        "cast": paddle.cast(x > 0, "float32"),
        "method": (x > 0).astype(paddle.float32),
        "one_hot": F.one_hot(paddle.to_tensor([0, 1]), 2),
        "arange": paddle.arange(0, 2, dtype="float32"),
    }
    for name, tensor in made.items():
        assert paddle.maximum(x, tensor).dtype == paddle.float64, name
    assert paddle.zeros([2], "int64").dtype == paddle.int64
