"""Stock v1 optimizers train EmbeddingVariables as they train variables, and both at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import deeprec

_train = tf.compat.v1.train
OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: _train.GradientDescentOptimizer(0.1),
    "momentum": lambda: _train.MomentumOptimizer(0.1, 0.9),
    "nesterov": lambda: _train.MomentumOptimizer(0.1, 0.9, use_nesterov=True),
    "adagrad": lambda: _train.AdagradOptimizer(0.1),
    "adagrad, start": lambda: _train.AdagradOptimizer(0.1, initial_accumulator_value=0.5),
    "adam": lambda: _train.AdamOptimizer(0.1),
    "ftrl": lambda: _train.FtrlOptimizer(0.1, l1_regularization_strength=0.5, l2_regularization_strength=0.2),
    "ftrl, shrinkage": lambda: _train.FtrlOptimizer(0.1, l2_shrinkage_regularization_strength=0.1, beta=0.2),
    "rmsprop": lambda: _train.RMSPropOptimizer(0.1, momentum=0.5),
    "rmsprop, centered": lambda: _train.RMSPropOptimizer(0.1, centered=True),
    "adadelta": lambda: _train.AdadeltaOptimizer(0.1),
}


@pytest.fixture(autouse=True)
def _stock_ftrl(rec: Any) -> None:
    """DeepRec's FTRL on EmbeddingVariables is not that of variables."""
    deeprec.install(group_ftrl=False)


def _pair(rec: Any, rows: int = 8, dim: int = 3) -> tuple[Any, Any]:
    """Return an EmbeddingVariable and a variable with the same rows."""
    matrix = np.random.default_rng(3).normal(size=(rows, dim)).astype(np.float32)
    init = rec.InitializerOption(initializer=rec.constant_initializer(matrix), default_value_dim=rows)
    ours = rec.get_embedding_variable("ours", dim, ev_option=rec.EmbeddingVariableOption(init_option=init))
    return ours, rec.get_variable("theirs", initializer=matrix, use_resource=True)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_five_steps_are_those_of_a_variable(rec: Any, name: str) -> None:
    ours, theirs = _pair(rec)
    ids = [0, 1, 2, 5, 6, 7]
    factors = np.random.default_rng(4).normal(size=(6, 3)).astype(np.float32)
    rows = [rec.nn.embedding_lookup(one, ids) for one in (ours, theirs)]
    trains = [
        OPTIMIZERS[name]().minimize(rec.reduce_sum(rec.square(found) * factors + found), var_list=[one])
        for found, one in zip(rows, (ours, theirs), strict=True)
    ]
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(5):
            session.run(trains)
        found, wanted = session.run(rows)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("name", ["sgd", "adagrad", "adam", "ftrl"])
def test_the_steps_of_equal_gradients_are_the_same_bits(rec: Any, name: str) -> None:
    rows = [
        rec.nn.embedding_lookup(one, [0, 1, 2, 5, 6, 7])
        for one in (
            rec.get_embedding_variable("ours", 3, initializer=rec.ones_initializer(rec.float32)),
            rec.get_variable("theirs", [8, 3], initializer=rec.ones_initializer(rec.float32), use_resource=True),
        )
    ]
    train = OPTIMIZERS[name]().minimize(rec.add_n([rec.reduce_sum(2.0 * found) for found in rows]))
    with rec.Session() as session:
        session.run(rec.global_variables_initializer())
        for _ in range(5):
            session.run(train)
            ours, theirs = session.run(rows)
            assert np.array_equal(ours, theirs)


def test_optimizers_without_a_form_are_refused(rec: Any) -> None:
    ours, _ = _pair(rec)
    loss = rec.reduce_sum(rec.nn.embedding_lookup(ours, [1]))

    class Odd(_train.AdamOptimizer):  # type: ignore[misc]
        def _resource_apply_sparse(self, grad: Any, var: Any, indices: Any) -> Any:
            return tf.no_op()

    with pytest.raises(
        TypeError, match=r"Odd cannot update the table `ours`, because Odd overrides _resource_apply_sparse"
    ):
        Odd(0.1).minimize(loss, var_list=[ours])
    with pytest.raises(
        TypeError, match=r"AdagradDAOptimizer cannot update .* because AdagradDAOptimizer overrides _apply_sparse"
    ):
        rec.train.AdagradDAOptimizer(0.1, rec.train.get_or_create_global_step()).minimize(loss, var_list=[ours])
    with pytest.raises(TypeError, match="the gradient of the table `ours` is dense"):
        rec.train.AdamOptimizer(0.1).apply_gradients([(rec.zeros([3, 3]), ours)])
