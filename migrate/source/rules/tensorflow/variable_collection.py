"""What is done with all variables of a graph."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class VariableCollection(Rule):
    """A table leaves the lists of all variables, so that what is done with them would no longer reach it."""

    id = "tf-variable-collection"
    title = "What is done with every variable keeps the tables"
    applicability = None
    examples = (
        Example(
            "L2 over all variables",
            MADE + "l2 = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n",
            says="uses all trainable variables",
        ),
    )
