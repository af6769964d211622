"""What is done with all variables of a graph."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = HEAD + (
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
)
AFTER = (
    HEAD + "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
L2 = 'l2 = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if "b" not in v.name])\n'
COUNT = "for v in tf.trainable_variables():\n    n += v.shape.num_elements()\n"


@register
class VariableCollection(Rule):
    """A table leaves the lists of all variables, so that what is done with them would no longer reach it."""

    id = "tf-variable-collection"
    title = "What is done with every variable keeps the tables, or no longer reaches them"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "A term such as L2 over all trainable variables no longer covers the tables: their rows are not decayed by it, "
        "and the loss is smaller. Counts and prints of all variables leave the tables out."
    )
    refusals = (
        Refusal(
            "computed-key",
            "`{text}` may list variables",
            "its key is computed: a table is not in a collection of variables, or without its rows",
            "write the key out, or convert with --assume",
            "`{text}` reads no collection of variables",
        ),
        Refusal(
            "list-handed-on",
            "`{text}` hands on `{listed}`, which lists variables",
            "tables are not in this list, and what is done with each of its variables is not seen",
            "call it where the variables are used",
        ),
        Refusal(
            "trainable-list-handed-on",
            "`{text}` hands on `{listed}`, which lists variables",
            "tables are not in this list, and what is done with each of its variables is not seen",
            "call it where the variables are used, or convert with --assume",
            "what is done with all trainable variables is right without the tables, which a term no longer covers",
            applicability=Applicability.CHANGES_VALUES,
        ),
    )
    examples = (
        Example(
            "L2 over all variables",
            MADE + L2,
            AFTER + L2,
            says="no longer covers the tables",
            assume=True,
        ),
        Example("not without --assume", MADE + L2, says="sums over all trainable variables"),
        Example("parameters are counted", MADE + COUNT, AFTER + COUNT, says="counts", assume=True),
        Example(
            "values that are fetched by name and then used",
            MADE + "names = [v.name for v in tf.trainable_variables()]\nrows = sess.run(names)\nfirst = rows[0]\n",
            says="`first = rows[0]` needs the values of the tables",
            assume=True,
        ),
    )
