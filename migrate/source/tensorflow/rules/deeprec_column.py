"""`categorical_column_with_embedding` of DeepRec -> `categorical_column_with_keys` of the runtime."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

HEAD = "import tensorflow.compat.v1 as tf\n"
CATEGORY = 'item = tf.feature_column.categorical_column_with_embedding("item", dtype=tf.int64, partition_num=4)\n'
LAYER = "inputs = tf.feature_column.input_layer(features, [column])\n"
AFTER = "from runtime.feature_column import categorical_column_with_keys, keyed_embedding_column\n"


@register
class EmbeddingVariableColumn(Rule):
    """Input layers and weighting columns remain TensorFlow's.

    Over any other category `keyed_embedding_column` returns TensorFlow's own column, so that programs may choose
    between categories at run time. The scope that groups columns is removed: each column is a single op.
    """

    id = "tf-embedding-variable-column"
    title = "A column over an EmbeddingVariable becomes one over a counted table"
    refusals = (
        *OF_CALLS,
        Refusal(
            "loaded-rows",
            "`{name}` is given to a column",
            "its table loads no rows",
            "leave it out and restore the checkpoint with a Saver",
        ),
        Refusal(
            "steps-to-live",
            "`{name}` is given to the category `{label}`",
            "",
            "write `GlobalStepEvict` into the option",
        ),
        Refusal(
            "initial-source",
            "`{name}` is given to the category `{label}`",
            "",
            "leave it out and restore a checkpoint",
        ),
    )
    examples = (
        Example(
            "the category configures the table, the column creates it",
            HEAD + CATEGORY + "column = tf.feature_column.embedding_column(item, 8, do_fusion=True)\n" + LAYER,
            HEAD + AFTER + 'item = categorical_column_with_keys("item", dtype=tf.int64)\n'
            "column = keyed_embedding_column(item, 8)\n" + LAYER,
        ),
        Example(
            "a choice between categories, in a group of columns",
            HEAD + "with tf.feature_column.group_embedding_column_scope(name='all'):\n    if grows:\n"
            "        item = tf.feature_column.categorical_column_with_embedding('item')\n    else:\n"
            "        item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
            "    column = tf.feature_column.embedding_column(item, 8)\n" + LAYER,
            HEAD + "from contextlib import nullcontext\n" + AFTER + "with nullcontext():\n    if grows:\n"
            "        item = categorical_column_with_keys('item')\n    else:\n"
            "        item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
            "    column = keyed_embedding_column(item, 8)\n" + LAYER,
        ),
        Example(
            "a column that loads its rows from a checkpoint",
            HEAD + CATEGORY + "column = tf.feature_column.embedding_column(item, 8, ckpt_to_load_from=old)\n" + LAYER,
            says="`ckpt_to_load_from`",
        ),
    )
