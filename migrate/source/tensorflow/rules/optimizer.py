"""Optimizers without a table optimizer that computes the same."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

MADE = 'import tensorflow.compat.v1 as tf\nW = tf.get_variable("w", [9, 4])\ne = tf.nn.embedding_lookup(W, ids)\n'


@register
class Optimizer(Rule):
    """A table is trained by an optimizer that computes what the stock one does; without one, the tables stay."""

    id = "tf-optimizer"
    title = "A model of an optimizer without a counterpart keeps its tables"
    applicability = None
    examples = (
        Example(
            "no counterpart",
            MADE + "op = tf.train.AdagradDAOptimizer(0.1).minimize(e)\n",
            says="AdagradDA",
        ),
    )
