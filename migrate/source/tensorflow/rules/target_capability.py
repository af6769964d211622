"""What another SDK than the runtime lacks or does otherwise."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("u", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"


@register
class Target(Rule):
    """`--target` names the SDK that converted code calls, and switches ask for its features.

    What a switch does to every table is noted here, with what the program needs besides. A table that the SDK cannot
    make as the program does stays as it is.
    """

    id = "tf-target"
    title = "What the target SDK and its switches do is listed, and what is left to be done by hand"
    applicability = None
    examples = (
        Example(
            "one variable for one name, in an SDK that makes a table once",
            HEAD + 'with tf.variable_scope("s", reuse=tf.AUTO_REUSE):\n    ' + MADE + "    " + LOOKUP,
            says="may be reused",
            target="deeprec",
        ),
        Example("not a table", HEAD + "e = tf.nn.embedding_lookup(tf.constant([[1.0]]), x)\n", target="deeprec"),
    )
