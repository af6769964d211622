"""Uses of a table that cannot be followed."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class TableUse(Rule):
    """A table moves only when every mention of it is understood; a mention that is not keeps it."""

    id = "tf-table-use"
    title = "A table with a use that is not understood stays as it is"
    applicability = None
    examples = (
        Example(
            "another value under the same name",
            MADE + "W = other\nf = tf.nn.embedding_lookup(W, ids)\n",
            says="bound more than once",
        ),
    )
