"""The proximal optimizers: without their regularization they are Adagrad and gradient descent, for other SDKs too."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from tests.support.source.converting import STEP, converted, reasons
from tests.support.source.scripts import HEAD, MADE, TRAIN, compare

pytest.importorskip("tensorflow")

LOSS = "loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(W, ids) * b - 0.2))\n"
ADAGRAD, DESCENT = "tf.train.ProximalAdagradOptimizer(0.1", "tf.train.ProximalGradientDescentOptimizer(0.1"


@pytest.mark.parametrize(
    "made",
    [
        f"{ADAGRAD}, 0.3)",
        f"{ADAGRAD}, 0.3, 0.01, l2_regularization_strength=0.02)",
        f"{DESCENT}, l1_regularization_strength=0.0)",
    ],
)
def test_they_train_as_before(made: str) -> None:
    compare(HEAD + MADE + LOSS + TRAIN.replace("tf.train.AdagradOptimizer(0.1)", made))


def test_their_regularization_moves_all_rows_toward_zero() -> None:
    text = HEAD + MADE + LOSS + f"op = {DESCENT}, l1_regularization_strength=l1).minimize(loss)\n"
    assert "no table optimizer computes the same" in reasons(converted(text, assume=True))
    assert converted("l1 = 0\n" + text).changed
    assert not converted("l1 = 0.01\n" + text, assume=True).changed
    adagrad = text.replace(DESCENT, ADAGRAD)
    assert converted(adagrad).changed
    assert not converted(adagrad, target="deeprec").changed


def test_a_table_that_no_assumption_frees_is_not_said_to_need_one() -> None:
    term = "loss += tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0)\n"
    text = HEAD + MADE + LOSS + term + f"op = {DESCENT}, l2_regularization_strength=0.1).minimize(loss)\n"
    record = converted(text).tables[0]
    assert record.verdict is State.UNSUPPORTED
    assert any("no table optimizer" in reason for reason in record.reasons)
    assert converted(HEAD + MADE + LOSS + term + STEP).tables[0].verdict is State.SUGGESTED


def test_a_name_that_is_bound_once_is_that_of_no_other_variable() -> None:
    other = 'with tf.variable_scope("cell", reuse=tf.AUTO_REUSE):\n    k = tf.get_variable(NAME, [4, 4])\n'
    text = HEAD + MADE.replace('"w"', '"cell/w"') + other + LOSS + STEP
    assert converted('NAME = "kernel"\n' + text).changed
    assert "may be this variable" in reasons(converted('NAME = "w"\n' + text, assume=True))
