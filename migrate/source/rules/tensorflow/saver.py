"""Savers that list their variables."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class Saver(Rule):
    """`Saver()` saves tables as it saves variables; a list of variables has no place for a table.

    With `--assume` the tables move under the assumption that no checkpoint of this saver needs them.
    """

    id = "tf-saver"
    title = "A `Saver` with a list of variables keeps the tables"
    applicability = None
    examples = (Example("a list", MADE + "s = tf.train.Saver(tf.trainable_variables())\n", says="lists its variables"),)
