"""`W.shape`, `W.get_shape()`, `tf.shape(W)`: a table has the static shape of its variable; a printed name is unchanged.

For another SDK the shape is written out, where its sizes are numbers.
"""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.example_parts import CONVERTED, HEAD, HEAD_AFTER, MADE
from migrate.source.tensorflow.facts.variables.static_shapes import RULE


@register
class TableShape(Rule):
    """The shape of a variable is constant: a table of the runtime has the static shape that it was made with."""

    id = RULE
    title = "The shape of a table is that of its variable"
    refusals = (
        Refusal(
            "differing-shapes",
            "this reads the shape of one of several tables; which one depends on the object",
            "the shapes of these tables differ",
            "write the sizes as numbers",
        ),
    )
    examples = (
        Example(
            "its shape",
            HEAD + MADE + "d = W.shape[1]\nn, _ = W.get_shape().as_list()\ns = tf.shape(W)[0]\n",
            HEAD_AFTER + CONVERTED + "d = W.shape[1]\nn, _ = W.get_shape().as_list()\ns = tf.constant([9, 4])[0]\n",
        ),
        Example("its name, fetched", HEAD + MADE + "rows = sess.run(W.name)\n"),
        Example("its name, printed", HEAD + MADE + "print(W.name)\n", HEAD_AFTER + CONVERTED + 'print("w:0")\n'),
        Example(
            "in the graph, of names of sizes",
            HEAD + MADE.replace("[9, 4]", "[n, 4]") + "d = tf.shape(W)[0]\n",
            HEAD_AFTER + CONVERTED.replace("=9", "=n") + "d = tf.constant(W.shape.as_list())[0]\n",
        ),
    )
