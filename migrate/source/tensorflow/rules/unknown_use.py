"""Uses of a table that cannot be followed."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = HEAD + 'W = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'
LOOK = (
    "def look(ids, W=None):\n    if W is None:\n"
    '        W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "    return tf.nn.embedding_lookup(W, ids)\n"
)


@register
class TableUse(Rule):
    """A table moves only when every mention of it is understood; a mention that is not keeps it."""

    id = "tf-table-use"
    title = "A table with a use that is not understood stays as it is"
    applicability = None
    examples = (
        Example(
            "another value under the same name",
            MADE + "if flag:\n    W = other\nf = tf.nn.embedding_lookup(W, ids)\n",
            says="bound more than once",
        ),
        Example(
            "a caller gives a matrix",
            HEAD + LOOK + "e = look(x) + look(x, matrix)\n",
            says="it may come from `matrix`",
            assume=True,
        ),
    )
