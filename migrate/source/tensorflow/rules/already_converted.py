"""Files that make tables already."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register


@register
class AlreadyConverted(Rule):
    """A file that calls `create_table` or `sparse_lookup` was converted before: its variables stay."""

    id = "tf-already-converted"
    title = "A file that already makes tables keeps its variables"
    applicability = None
    examples = (
        Example(
            "a table made by hand",
            "import tensorflow.compat.v1 as tf\nfrom runtime import create_table\n"
            'T = create_table(key_dtype=tf.int64, dim=4, name="t")\nW = tf.get_variable("w", [9, 4])\n'
            "e = tf.nn.embedding_lookup(W, ids)\n",
            says="already calls",
        ),
    )
