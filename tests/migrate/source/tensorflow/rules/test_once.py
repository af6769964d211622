"""What is computed once is computed once: properties that do something, names that are set inside of expressions."""

from __future__ import annotations

import pytest

from tests.support.source.converting import converted
from tests.support.source.scripts import HEAD, compare

MADE = """ids = tf.constant([1, 2, 1], tf.int64)
class Config:
    def __init__(self):
        self.turn = 0
    @property
    def rate(self):
        self.turn += 1
        return 0.8 / self.turn
    @property
    def rows(self):
        self.turn += 1
        return 8 + self.turn
    @property
    def plain(self):
        return 0.3
config = Config()
k = 0
W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
"""
LOSS = "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids) * b)\n"
RUN = """with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(3):
        show(s.run(loss))
        s.run(train)
"""
OPTIMIZERS = {
    "a property that counts": "tf.train.AdagradOptimizer(config.rate)",
    "two of them": "tf.train.MomentumOptimizer(config.rate, config.rate)",
    "a name that is set": "tf.train.AdagradOptimizer((k := k + 1) * 0.1)",
    "a plain property": "tf.train.AdagradOptimizer(config.plain)",
}


@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("made", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_a_learning_rate_is_computed_once(made: str, bound: bool) -> None:
    step = f"opt = {made}\ntrain = opt.minimize(loss)\n" if bound else f"train = {made}.minimize(loss)\n"
    compare(HEAD + MADE + LOSS + step + RUN)


def test_what_would_be_computed_again_keeps_its_table() -> None:
    text = f"{HEAD}{MADE}e = tf.nn.embedding_lookup(W[:, (k := k + 1):], ids + k)\nloss = tf.reduce_sum(e * b[k:])\n"
    assert not converted(f"{text}train = tf.train.AdagradOptimizer(0.1).minimize(loss)\n{RUN}", assume=True).changed


def test_a_shape_is_that_with_which_the_table_was_made() -> None:
    """Its size is a property that counts, so that it cannot be written anew."""
    loss = "e = tf.nn.embedding_lookup(W, ids)\nloss = tf.reduce_sum(e * b) * float(W.shape[0])\n"
    step = "train = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    compare(HEAD + MADE.replace("[9, 4]", "[config.rows, 4]") + loss + step + RUN)


@pytest.mark.parametrize(
    "total",
    [
        "from operator import attrgetter as get\nboth = get('item', 'scale')\ndef total(m):\n    return both(m)\n",
        "def total(m):\n    match m:\n        case object(item=rows):\n            return rows\n",
    ],
    ids=["another name of attrgetter", "a pattern"],
)
def test_an_attribute_that_is_read_in_another_way_keeps_its_table(total: str) -> None:
    model = (
        "class Model:\n    def __init__(self):\n        self.scale = b\n"
        '        self.item = tf.get_variable("item", [9, 4])\n'
        "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
    )
    loss = "m = Model()\nloss = tf.reduce_sum(m.rows)\ntrain = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    assert not converted(HEAD + MADE + total + model + loss + RUN, assume=True).changed
