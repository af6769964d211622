"""Attributes of objects that are not known: options, and objects that unseen code got."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, converted, reasons

MODEL = """
class Model:
    def __init__(self, hparams, ids, cell):
        self.W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())
        self.rows = tf.nn.embedding_lookup(self.W, ids)
        self.cell = cell
        cell.model = self
        self.step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(self.rows))
class Cell(tf.nn.rnn_cell.RNNCell):
    pass
def build(hparams, ids):
    return Model(hparams, ids, Cell())
"""
#: Options are taken for no model: the attribute of that name holds a cell, with the model in it.
CONVERTS = {
    "an option": "def kind(hparams):\n    return hparams.cell in ['a', 'b']\n",
    "an option, shown": "def kind(self):\n    raise ValueError('{}'.format(self.hparams.cell))\n",
}
STAYS = {
    "of an object that is not known": "def kind(thing):\n    return thing.cell in ['a', 'b']\n",
    "an option that is set": "def kind(hparams, m):\n    hparams.cell = m\n    return hparams.cell in ['a', 'b']\n",
    "the table itself, of an object in options": "def kind(hparams):\n    return show(hparams.model.W)\n",
    "an object that is not known, by name": "def table(models, name):\n"
    "    return [getattr(one, name) for one in models]\n",
}


@pytest.mark.parametrize("code", CONVERTS.values(), ids=CONVERTS)
def test_options_hold_no_model(code: str) -> None:
    result = converted(HEAD + MODEL + code)
    assert result.changed, reasons(result)


@pytest.mark.parametrize("code", STAYS.values(), ids=STAYS)
def test_other_objects_may_hold_one(code: str) -> None:
    assert not converted(HEAD + MODEL + code).changed


def test_gradients_and_scopes_of_such_an_object_are_known() -> None:
    step = """
        optimizer = tf.train.AdagradOptimizer(0.1)
        pairs = optimizer.compute_gradients(tf.reduce_sum(self.rows))
        self.step = optimizer.apply_gradients(pairs)
        with tf.variable_scope("all") as self.scope:
            V = tf.get_variable("v", [9, 4], initializer=tf.zeros_initializer())
            self.other = tf.nn.embedding_lookup(V, ids)
"""
    begin, _, end = MODEL.partition("        self.step = ")
    text = begin + "        tf.nn.dynamic_rnn(cell, self.rows)" + step + end.partition("\n")[2]
    text = text.replace('self.W = tf.get_variable("w"', 'self.W = tf.get_variable("all/w"')
    result = converted(HEAD + text)
    assert "sparse_optimizer" in result.converted and "order is not known" not in reasons(result), reasons(result)
