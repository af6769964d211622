"""Learning rates of schedulers over 50 steps, beside Paddle's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version]

CASES: dict[str, Callable[[Any], Any]] = {
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
        theirs = {name: make(paddle.optimizer.lr) for name, make in CASES.items()}
        ours = {name: make(nn.optimizer.lr) for name, make in CASES.items()}
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
