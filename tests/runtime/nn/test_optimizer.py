"""Twelve steps of each optimizer, and fifty learning rates of each scheduler, beside Paddle's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from migrate.verify.paddle.patches import is_dense, textbook
from migrate.verify.paddle.trainer.following import give_gradients, gradients_of
from runtime import nn

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

STEPS, ROWS = 12, 12
WATCHED = (0, 1, STEPS - 1)
RANDOM = np.random.default_rng(5)
IDS = [RANDOM.integers(0, 4 + step % 8, (5, 2)) for step in range(STEPS)]
IDS[0] = RANDOM.permutation(ROWS)[:10].reshape(5, 2)  # no row repeats, and they are not in order
SCALES = [RANDOM.normal(size=(5, 3)).astype(np.float32) * 3 for _ in range(STEPS)]
Make = Callable[[Any, Any, Any], Any]


class Side:
    """Names of one of the two, so that a case is written once."""

    def __init__(self, paddles: bool) -> None:
        self.nn: Any = paddle.nn if paddles else nn
        self.optimizer = paddle.optimizer if paddles else nn.optimizer
        self.L1Decay = (paddle if paddles else nn).regularizer.L1Decay
        self.L2Decay = (paddle if paddles else nn).regularizer.L2Decay
        self.ParamAttr = (paddle if paddles else nn).ParamAttr


def model_of(side: Side, sparse: bool, table: bool, attr: Callable[[Side], Any] | None) -> Any:
    class Model(side.nn.Layer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            extra = {} if side.nn is paddle.nn else {"table": table}
            given = {} if attr is None else {"weight_attr": attr(side)}
            self.embedding = side.nn.Embedding(ROWS, 3, sparse=sparse, **given, **extra)
            self.linear = side.nn.Linear(6, 3, weight_attr=None if attr is None else attr(side))
            self.unused = side.nn.Linear(3, 3)

        def forward(self, ids: Any, scale: Any) -> Any:
            rows = self.embedding(ids)
            flat = paddle.reshape(rows, [-1, 6]) if side.nn is paddle.nn else tf.reshape(rows, [-1, 6])
            out = self.linear(flat) * scale
            return (out * out).sum() if side.nn is paddle.nn else tf.reduce_sum(out * out)

    return Model()


CASES: dict[str, Make] = {
    "sgd": lambda s, p, m: s.optimizer.SGD(0.01, p),
    "adagrad": lambda s, p, m: s.optimizer.Adagrad(0.1, parameters=p),
    "momentum": lambda s, p, m: s.optimizer.Momentum(0.003, 0.8, p),
    "nesterov": lambda s, p, m: s.optimizer.Momentum(0.003, 0.8, p, True, rescale_grad=0.5),
    "adam": lambda s, p, m: s.optimizer.Adam(0.05, parameters=p),
    "adam_lazy": lambda s, p, m: s.optimizer.Adam(0.05, 0.8, 0.99, 1e-4, p, lazy_mode=True),
    "clip_global": lambda s, p, m: s.optimizer.SGD(0.05, p, grad_clip=s.nn.ClipGradByGlobalNorm(1.0)),
    "adam_clip_global": lambda s, p, m: s.optimizer.Adam(
        0.05, 0.8, 0.99, parameters=p, grad_clip=s.nn.ClipGradByGlobalNorm(1.0), lazy_mode=True
    ),
    "adam_groups": lambda s, p, m: s.optimizer.Adam(
        0.05,
        0.8,
        parameters=[
            {"params": m.embedding.parameters(), "learning_rate": 0.5},
            {"params": m.linear.parameters(), "weight_decay": 0.1, "beta1": 0.7, "grad_clip": s.nn.ClipGradByNorm(0.5)},
        ],
    ),
    "scheduler": lambda s, p, m: s.optimizer.Adam(s.optimizer.lr.PolynomialDecay(0.1, 10, 0.01, 2.0), parameters=p),
}
#: What a table cannot do: of variables only.
DENSE: dict[str, Make] = {
    "sgd_l2": lambda s, p, m: s.optimizer.SGD(0.01, p, weight_decay=0.1),
    "momentum_l2": lambda s, p, m: s.optimizer.Momentum(0.003, 0.8, p, weight_decay=0.1, rescale_grad=0.5),
    "momentum_l1": lambda s, p, m: s.optimizer.Momentum(0.003, 0.8, p, weight_decay=s.L1Decay(0.1), rescale_grad=0.5),
    "rmsprop": lambda s, p, m: s.optimizer.RMSProp(0.01, parameters=p),
    "rmsprop_centered": lambda s, p, m: s.optimizer.RMSProp(0.01, 0.9, 1e-3, 0.5, True, p),
}
NOT_SPARSE: dict[str, Make] = {  # Paddle dies or refuses with a sparse gradient
    "adam_l2": lambda s, p, m: s.optimizer.Adam(0.05, parameters=p, weight_decay=0.1),
    "adamw": lambda s, p, m: s.optimizer.AdamW(0.05, parameters=p, weight_decay=0.3),
    "lamb_names": lambda s, p, m: s.optimizer.Lamb(
        0.05, 0.2, parameters=p, exclude_from_weight_decay_fn=lambda p: p.name.startswith("linear_")
    ),
    "adamw_groups": lambda s, p, m: s.optimizer.AdamW(
        0.05,
        parameters=[
            {"params": m.embedding.parameters(), "weight_decay": 0.5},
            {"params": m.linear.parameters(), "learning_rate": 0.1},
        ],
    ),
    "adamax": lambda s, p, m: s.optimizer.Adamax(0.05, parameters=p),
    "adadelta": lambda s, p, m: s.optimizer.Adadelta(0.5, 1e-4, 0.9, p),
    "lamb": lambda s, p, m: s.optimizer.Lamb(0.05, parameters=p),
}
ATTRIBUTES: dict[str, Callable[[Side], Any]] = {
    "nothing": lambda s: s.ParamAttr(regularizer=s.L2Decay(0.0)),  # makes a sparse gradient dense in Paddle
    "l2": lambda s: s.ParamAttr(regularizer=s.L2Decay(0.2), learning_rate=0.5),
    "l1": lambda s: s.ParamAttr(regularizer=s.L1Decay(0.2), need_clip=False, learning_rate=0.05),
}


def all_cases() -> dict[str, tuple[Make, bool, bool, Callable[[Side], Any] | None]]:
    """Return name -> optimizer, whether the gradient is sparse in Paddle, whether it is a table, and attributes."""
    found: dict[str, Any] = {}
    for sparse in (False, True):
        kind = "sparse" if sparse else "dense"
        for name, make in CASES.items():
            for table in (False, True):
                found[f"{name}-{kind}-{'table' if table else 'variable'}"] = (make, sparse, table, None)
        for name, make in DENSE.items():
            found[f"{name}-{kind}"] = (make, sparse, False, None)
        for attr, make_attr in ATTRIBUTES.items():
            for name in ("sgd", "momentum", "adam", "adam_lazy", "momentum_l1", "clip_global"):
                found[f"{name}-{kind}-{attr}"] = ({**CASES, **DENSE}[name], sparse, False, make_attr)
        found[f"adam_lazy-{kind}-nothing-table"] = (CASES["adam_lazy"], sparse, True, ATTRIBUTES["nothing"])
    for name, make in NOT_SPARSE.items():
        found[name] = (make, False, False, None)
    return found


def by_paddle(case: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    make, sparse, table, attr = case
    side = Side(True)
    paddle.seed(2)
    model = model_of(side, sparse, table, attr)
    optimizer = make(side, model.parameters(), model)
    first = {path: value.numpy() for path, value in model.state_dict().items()}
    found = []
    parameters = dict(model.named_parameters())
    with textbook():
        for ids, scale in zip(IDS, SCALES, strict=True):
            model(paddle.to_tensor(ids), paddle.to_tensor(scale)).backward()
            give_gradients(parameters, gradients_of(parameters), is_dense(optimizer))
            optimizer.step()
            optimizer.clear_grad()
            if isinstance(optimizer._learning_rate, paddle.optimizer.lr.LRScheduler):
                optimizer._learning_rate.step()
            found.append({path: value.numpy() for path, value in model.state_dict().items()})
    return first, found


def by_runtime(case: Any, first: dict[str, Any]) -> list[dict[str, Any]]:
    make, sparse, table, attr = case
    side = Side(False)
    with tf.Graph().as_default():
        ids = v1.placeholder(tf.int64, [None, 2])
        scale = v1.placeholder(tf.float32, [None, 3])
        model = model_of(side, sparse, table, attr)
        model.build("model")
        optimizer = make(side, model.parameters(), model)
        step = optimizer.minimize(model(ids, scale))
        rate = optimizer._learning_rate
        count = rate.step() if isinstance(rate, nn.optimizer.lr.LRScheduler) else tf.no_op()
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            nn.load_weights(model, first, session)
            found = []
            for number in range(STEPS):
                session.run(step, {ids: IDS[number], scale: SCALES[number]})
                session.run(count)
                found.append(nn.read_weights(model, session) if number in WATCHED else {})
    return found


def often() -> list[str]:
    """Return the first case of each optimizer."""
    return list({name.partition("-")[0]: name for name in reversed(all_cases())}.values())


@pytest.mark.parametrize("names", [often(), pytest.param([*all_cases()], marks=pytest.mark.soak)], ids=["often", "all"])
def test_steps_are_those_of_paddle(names: list[str]) -> None:
    wrong = []
    for name in names:
        case = all_cases()[name]
        first, expected = by_paddle(case)
        found = by_runtime(case, first)
        for number in WATCHED:
            for path, value in expected[number].items():
                far = 1e-4 if number > 1 else 2e-6  # differences grow with the steps
                if not np.allclose(found[number][path], value, rtol=far, atol=far):
                    wrong.append((name, path, number, np.abs(found[number][path] - value).max()))
    assert not wrong, "\n".join(map(str, wrong))


SCHEDULERS: dict[str, Callable[[Any], Any]] = {
    "noam": lambda lr: lr.NoamDecay(16, 10, 2.0),
    "piecewise": lambda lr: lr.PiecewiseDecay([3, 6, 20], [0.1, 0.3, 0.05, 0.01]),
    "natural": lambda lr: lr.NaturalExpDecay(0.5, 0.1),
    "inverse": lambda lr: lr.InverseTimeDecay(0.5, 0.1),
    "polynomial_cycle": lambda lr: lr.PolynomialDecay(0.5, 7, 0.01, 0.5, cycle=True),
    "warmup": lambda lr: lr.LinearWarmup(0.5, 10, 0.0, 0.5),
    "warmup_then": lambda lr: lr.LinearWarmup(lr.CosineAnnealingDecay(0.5, 15), 10, 0.1, 0.7),
    "exponential": lambda lr: lr.ExponentialDecay(0.5, 0.9),
    "later": lambda lr: lr.ExponentialDecay(0.5, 0.9, last_epoch=6),
    "no_milestones": lambda lr: lr.MultiStepDecay(0.5, []),
    "milestones": lambda lr: lr.MultiStepDecay(0.5, [5, 9, 30], 0.3),
    "steps": lambda lr: lr.StepDecay(0.5, 6, 0.7),
    "lambda": lambda lr: lr.LambdaDecay(0.5, lambda epoch: 0.95**epoch),
    "cosine": lambda lr: lr.CosineAnnealingDecay(0.5, 12, 0.02),
}


def test_rates_are_those_of_paddle() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        theirs = {name: make(paddle.optimizer.lr) for name, make in SCHEDULERS.items()}
        ours = {name: make(nn.optimizer.lr) for name, make in SCHEDULERS.items()}
        rates = {name: one() for name, one in ours.items()}
        counts = [one.step() for one in ours.values()]
        jump = {name: one.step(40) for name, one in ours.items()}
        session.run(v1.global_variables_initializer())
        for number in range(51):
            for name, rate in session.run(rates).items():
                assert rate.dtype == np.float32
                np.testing.assert_allclose(rate, theirs[name](), 1e-6, 1e-9, err_msg=f"{name} {number}")
            session.run(counts)
            for one in theirs.values():
                one.step()
        session.run(jump)
        for name, rate in session.run(rates).items():
            theirs[name].step(40)
            np.testing.assert_allclose(rate, theirs[name](), 1e-6, 1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda lr: lr.PiecewiseDecay([1, 2], [0.1, 0.2]), "one value more"),
        (lambda lr: lr.StepDecay(0.1, 2, 1.0), "below 1"),
        (lambda lr: lr.LinearWarmup(0.1, 3, 0.2, 0.1), "an end above the start"),
        (lambda lr: lr.CosineAnnealingDecay(0.1, 5, last_epoch=3), r"step\(4\)"),
        (lambda lr: lr.LambdaDecay(0.1, lambda epoch: 1.0 if epoch < 3 else 0.5).value(), "tf.where"),
    ],
)
@pytest.mark.usefixtures("graph")
@pytest.mark.each_case
def test_wrong_settings_are_refused(make: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        make(nn.optimizer.lr)
