"""What optimizers train, what comes before a step, and what they refuse; formulas by hand on each TensorFlow."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.nn.regularizer import L1Decay, L2Decay

v1 = tf.compat.v1
opt = nn.optimizer
pytestmark = pytest.mark.usefixtures("graph")


class Model(nn.Layer):
    def __init__(self, table: bool = True, sparse: bool = False, attr: Any = None) -> None:
        super().__init__()
        self.embedding = nn.Embedding(6, 2, table=table, sparse=sparse, weight_attr=attr)
        self.first, self.second = (self.create_parameter([2], default_initializer=tf.ones_initializer()) for _ in "ab")
        self.build("model")

    def forward(self) -> Any:
        return tf.reduce_sum(self.embedding(tf.constant([1, 1, 3])) * self.first) + tf.reduce_sum(3 * self.second)


def after(model: Any, *steps: Any, times: int = 1) -> dict[str, Any]:
    """Return the weights after steps, from rows of ones."""
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        nn.load_weights(model, {**nn.read_weights(model, session), "embedding.weight": np.ones([6, 2])}, session)
        for _ in range(times):
            for step in steps:
                session.run(step)
        return nn.read_weights(model, session)


@pytest.mark.parametrize("table", [True, False])
@pytest.mark.parametrize("lazy", [True, False])
@pytest.mark.each_case
def test_adam_moves_idle_rows_unless_it_is_lazy(table: bool, lazy: bool) -> None:
    model = Model(table, sparse=True)
    ids = v1.placeholder(tf.int64, [None])
    step = opt.Adam(0.1, 0.5, 0.9, 0.01, model.parameters(), lazy_mode=lazy).minimize(model.embedding(ids))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        nn.load_weights(model, {**nn.read_weights(model, session), "embedding.weight": np.ones([6, 2])}, session)
        for batch in ([1], [2], [2]):
            session.run(step, {ids: batch})
        found = nn.read_weights(model, session)["embedding.weight"][:, 0]
    w, m, v = np.ones(6), np.zeros(6), np.zeros(6)
    for t, row in enumerate([1, 2, 2], start=1):
        moves = np.arange(6) == row if lazy else np.arange(6) >= 0
        g = (np.arange(6) == row) * 1.0
        m, v = np.where(moves, 0.5 * m + 0.5 * g, m), np.where(moves, 0.9 * v + 0.1 * g, v)
        w = w - moves * 0.1 * m / (1 - 0.5**t) / (np.sqrt(v / (1 - 0.9**t)) + 0.01)
    np.testing.assert_allclose(found, w, 1e-5)


def test_what_is_not_trained_stays() -> None:
    model = Model()
    model.second.stop_gradient = True
    weights = model.parameters()
    with nn.no_grad():
        rows = model.embedding(tf.constant([1]))
    loss = tf.reduce_sum(rows * model.first) + tf.reduce_sum(model.second.tensor())
    optimizer = opt.SGD(0.1, weights)
    assert optimizer.get_lr() == 0.1
    found = after(model, optimizer.minimize(loss))
    assert (found["embedding.weight"] == 1).all() and (found["second"] == 1).all() and (found["first"] < 1).all()


def test_running_values_are_updated_before_the_weights() -> None:
    model = Model()
    seen = v1.get_variable("seen", initializer=[0.0, 0.0], trainable=False)
    v1.add_to_collection(v1.GraphKeys.UPDATE_OPS, v1.assign(seen, model.second.tensor()).op)
    step = opt.SGD(0.1, model.parameters()).minimize(model())
    assert step in v1.get_collection(v1.GraphKeys.TRAIN_OP)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run(step)
        np.testing.assert_array_equal(session.run(seen), 1)


def test_momentum_moves_idle_rows_of_a_table() -> None:
    model = Model()
    ids = v1.placeholder(tf.int64, [None])
    step = opt.Momentum(0.1, 0.5, [model.embedding.weight]).minimize(model.embedding(ids))
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        nn.load_weights(model, {**nn.read_weights(model, session), "embedding.weight": np.ones([6, 2])}, session)
        for batch in ([1], [2], [2]):
            session.run(step, {ids: batch})
        found = nn.read_weights(model, session)["embedding.weight"][:, 0]
    np.testing.assert_allclose(found, [1, 1 - 0.1 * 1.75, 1 - 0.1 * 2.5, 1, 1, 1], 1e-6)


REFUSED: dict[str, tuple[Callable[[Model], Any], str]] = {
    "decay of a table": (lambda m: opt.SGD(0.1, m.parameters(), weight_decay=0.1), r"L2Decay\(0.1\).*table=False"),
    "decay by AdamW": (lambda m: opt.AdamW(0.1, parameters=m.parameters()), "shrinks every row.*table=False"),
    "RMSProp": (lambda m: opt.RMSProp(0.1, parameters=m.parameters()), "table=False"),
    "a changing rate": (lambda m: opt.Momentum(opt.lr.StepDecay(0.1, 2), parameters=m.parameters()), "table=False"),
    "a minimum above 0": (
        lambda m: opt.SGD(0.1, m.parameters(), grad_clip=nn.ClipGradByValue(1.0, 0.5)),
        "changes gradients of 0",
    ),
    "no gradient": (lambda m: opt.SGD(0.1, [nn.Linear(2, 2).weight]), "nothing to train"),
    "twice in groups": (lambda m: opt.SGD(0.1, [{"params": m.first}, {"params": [m.first]}]), "`first` twice"),
    "a setting": (lambda m: opt.SGD(0.1, [{"params": m.parameters(), "beta1": 0.1}]), "`beta1`"),
    "a beta": (lambda m: opt.Adam(0.1, 1.0, parameters=m.parameters()), "beta1 is 1.0"),
}


@pytest.mark.parametrize("name", REFUSED)
@pytest.mark.each_case
def test_refused(name: str) -> None:
    model = Model()
    make, message = REFUSED[name]
    with pytest.raises(ValueError, match=message):
        make(model).minimize(model())


def test_adam_refuses_decay_of_a_sparse_gradient_as_paddle_does() -> None:
    model = Model(table=False, sparse=True)
    with pytest.raises(ValueError, match="sparse=True"):
        opt.Adam(0.1, parameters=model.parameters(), weight_decay=0.1).minimize(model())


def test_a_weights_own_regularizer_comes_first() -> None:
    model = Model(table=False, attr=nn.ParamAttr(regularizer=L1Decay(0.5)))
    found = after(model, opt.SGD(0.1, model.parameters(), weight_decay=L2Decay(2.0)).minimize(model()))
    np.testing.assert_allclose(found["embedding.weight"][[0, 3], 0], [1 - 0.05, 1 - 0.05 - 0.1], 1e-6)
    np.testing.assert_allclose(found["second"], 1 - 0.1 * (3 + 2), 1e-6)
    assert repr(L2Decay(2)) == "L2Decay(2.0)"
