"""`tf.feature_column.embedding_column(c, D)` -> `runtime.feature_column.embedding_column(c, D)`: the arguments stay."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
COLUMN = "item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
RANGE = "item = tf.feature_column.categorical_column_with_identity('item', 1000)\n"
LAYER = "inputs = tf.feature_column.input_layer(features, [column])\n"
AFTER = "import tensorflow.compat.v1 as tf\nfrom runtime.feature_column import embedding_column\n"


@register
class EmbeddingColumn(Rule):
    """Categorical columns, input layers and parsing specs stay TensorFlow's; in evaluation unseen ids get rows, too."""

    id = "tf-embedding-column"
    title = "An embedding column becomes one over a dynamic table"
    examples = (
        Example(
            "in DeepRec the category below it makes the table",
            HEAD + RANGE + "column = tf.feature_column.embedding_column(item, 8)\n" + LAYER,
            HEAD + "item = tf.feature_column.categorical_column_with_embedding(\n    'item', dtype=tf.int64,\n    "
            "ev_option=tf.EmbeddingVariableOption(init_option=tf.InitializerOption(default_value_dim=1000))\n)\n"
            "column = tf.feature_column.embedding_column(item, 8)\n" + LAYER,
            assume=True,
            target="deeprec",
        ),
        Example(
            "a category that is read otherwise keeps its range",
            HEAD
            + RANGE
            + "column = tf.feature_column.embedding_column(item, 8)\n"
            + LAYER
            + "other = tf.feature_column.indicator_column(item)\n",
            assume=True,
            says="more than embedding columns",
            target="deeprec",
        ),
        Example(
            "the column is exchanged, what it reads and what reads it stay",
            HEAD + COLUMN + "column = tf.feature_column.embedding_column(item, 8, combiner='sum')\n" + LAYER,
            AFTER + COLUMN + "column = embedding_column(item, 8, combiner='sum')\n" + LAYER,
        ),
        Example(
            "canned estimators train by themselves",
            HEAD + COLUMN + "column = tf.feature_column.embedding_column(item, 8)\n"
            "model = tf.estimator.DNNClassifier([8], [column])\n",
            says="canned",
        ),
        Example(
            "not trained",
            HEAD + COLUMN + "column = tf.feature_column.embedding_column(item, 8, trainable=False)\n" + LAYER,
            says="trained",
        ),
        Example(
            "columns for another file",
            HEAD + "def columns(item):\n    return [tf.feature_column.embedding_column(item, 8)]\n",
            says="--assume",
        ),
    )
