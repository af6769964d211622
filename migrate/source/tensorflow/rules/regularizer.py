"""`regularizer=` of a variable or a scope: dropped where nothing reads its term, else taken over the looked-up rows."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Example, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_TERMS
from migrate.source.tensorflow.checks.regularizers import RULE

HEAD = "import tensorflow.compat.v1 as tf\nr = tf.keras.regularizers.l2(0.1)\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer(), regularizer=r)\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
SCOPE = 'with tf.variable_scope("s", regularizer=r):\n'
READ = "loss += tf.losses.get_regularization_loss()\n"
HEAD_AFTER = (
    "import tensorflow.compat.v1 as tf\nfrom runtime import create_table, sparse_lookup\n"
    "r = tf.keras.regularizers.l2(0.1)\n"
)
CREATED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)
SCOPED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="s_w", device_vocabulary_size=9,\n'
    "                     emb_initializer=tf.zeros_initializer())\n"
)
ROWS = "e = sparse_lookup(W, ids)\n"
ADDED = "tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, r(looked_up_rows(W)))\n"


@register
class Regularizer(Rule):
    """The term that a variable's regularizer adds to the regularization losses of the graph."""

    id = RULE
    title = "The regularizer of a variable is dropped where its term is not read, or taken over the rows of the batch"
    applicability = Applicability.CHANGES_VALUES
    fix_safety = (
        "Where nothing reads the regularization losses, dropping the term is exact. Where they are read, a row is "
        "decayed only by the steps that look it up, as by `tf-table-norm`."
    )
    refusals = OF_TERMS
    examples = (
        Example(
            "the regularization losses are read",
            HEAD + MADE + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, looked_up_rows,") + CREATED + ROWS + ADDED + READ,
            says="no longer decayed",
            assume=True,
        ),
        Example("not without --assume", HEAD + MADE + LOOKUP + READ, says="acts on the whole table"),
        Example("nothing reads them here", HEAD + MADE + LOOKUP, HEAD_AFTER + CREATED + ROWS, assume=True),
        Example("but another file may", HEAD + MADE + LOOKUP, says="acts on the whole table"),
        Example(
            "of the scope",
            HEAD + SCOPE + "    " + MADE.replace(", regularizer=r", "") + "    " + LOOKUP + READ,
            HEAD_AFTER.replace("create_table,", "create_table, looked_up_rows,") + SCOPE
            + "    " + SCOPED + "    " + ROWS + "    " + ADDED + READ,
            assume=True,
        ),
        Example("read before the lookup", HEAD + MADE + READ + LOOKUP, says="before its lookups", assume=True),
        Example(
            "a regularizer that is not known",
            HEAD + MADE.replace("=r)", "=lambda w: tf.reduce_max(w))") + LOOKUP + READ,
            says="is not known",
            assume=True,
        ),
    )  # fmt: skip
