"""`W.shape`, `W.get_shape()`, `tf.shape(W)` -> the sizes of the variable; a printed name is unchanged.

Where no text gives these sizes, the static shape is read from the table: that of its variable.
"""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.example_parts import CONVERTED, HEAD, HEAD_AFTER, MADE
from migrate.source.tensorflow.facts.variables.static_shapes import RULE


@register
class TableShape(Rule):
    """The shape of a variable is constant and is written out, because the number of rows of a table grows.

    A static shape stays as it is where its sizes have no text: a table of the runtime has the shape it was made with.
    """

    id = RULE
    title = "The shape of a table is written out as that of its variable"
    refusals = (
        Refusal(
            "differing-shapes",
            "this reads a shape that depends on the object",
            "it is the shape of one of several tables, and their shapes differ",
            "write the sizes out",
        ),
    )
    examples = (
        Example(
            "its shape",
            HEAD + MADE + "d = W.shape[1]\nn, _ = W.get_shape().as_list()\ns = tf.shape(W)[0]\n",
            HEAD_AFTER + CONVERTED + "d = tf.TensorShape([9, 4])[1]\nn, _ = tf.TensorShape([9, 4]).as_list()\n"
            "s = tf.constant([9, 4])[0]\n",
        ),
        Example("its name, fetched", HEAD + MADE + "rows = sess.run(W.name)\n"),
        Example("its name, printed", HEAD + MADE + "print(W.name)\n", HEAD_AFTER + CONVERTED + 'print("w:0")\n'),
        Example(
            "names of sizes that are assigned again before the use",
            HEAD + MADE.replace("[9, 4]", "[n, 4]") + "n = 3\nn = 5\nd = W.shape[0]\n",
            HEAD_AFTER + CONVERTED.replace("=9", "=n") + "n = 3\nn = 5\nd = W.shape[0]\n",
        ),
    )
