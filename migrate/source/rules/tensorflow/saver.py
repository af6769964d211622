"""Savers that list their variables."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
ROWS = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
TABLE = (
    "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
LISTED = 'b = tf.get_variable("b", [4])\ns = tf.train.Saver({"bias": b})\n'
MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class Saver(Rule):
    """`Saver()` saves tables as it saves variables; a list of variables has no place for a table.

    A literal list or dict of other variables stays as it is: the original saved no row by it either.

    With `--assume` the tables move under the assumption that no checkpoint of this saver needs them.
    """

    id = "tf-saver"
    title = "A `Saver` with a list of variables keeps the tables"
    applicability = None
    examples = (
        Example("a list", MADE + "s = tf.train.Saver(tf.trainable_variables())\n", says="lists its variables"),
        Example("of other variables", HEAD + ROWS + LISTED, HEAD + TABLE + LISTED),
    )
