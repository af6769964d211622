"""Names and defaults of arguments are Paddle's; random functions give Paddle's shapes, dtypes and distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.nn import functional

pytestmark = pytest.mark.paddle


def drawn(call: Any, runs: int = 1) -> list[np.ndarray]:
    """Return what the function draws in a session with a seed."""
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(3)
        result = call(functional)
        values = [session.run(result) for _ in range(runs)]
        assert result.shape.is_compatible_with(values[0].shape)
    return values


def test_laws() -> None:
    (uniform,) = drawn(lambda F: F.uniform([20000], min=-1.0, max=3.0))
    assert -1 <= uniform.min() < -0.99 and 2.99 < uniform.max() < 3 and abs(uniform.mean() - 1) < 0.05
    (normal,) = drawn(lambda F: F.normal(2.0, 0.5, [20000]))
    assert abs(normal.mean() - 2) < 0.02 and abs(normal.std() - 0.5) < 0.02
    (ints,) = drawn(lambda F: F.randint(2, 5, [3000]))
    assert set(ints.tolist()) == {2, 3, 4}
    first, second = drawn(lambda F: F.randperm(50), runs=2)
    assert sorted(first.tolist()) == list(range(50)) and first.tolist() != second.tolist()
    (chosen,) = drawn(lambda F: F.multinomial(F.to_tensor([[1.0, 3.0]]), 4000, True))
    assert abs(chosen.mean() - 0.75) < 0.03
    (apart,) = drawn(lambda F: F.multinomial(F.to_tensor([[1.0, 3.0, 0.0, 2.0]] * 500), 3))
    assert all(sorted(row) == [0, 1, 3] for row in apart.tolist())
    assert abs((apart[:, 0] == 1).mean() - 0.5) < 0.08
