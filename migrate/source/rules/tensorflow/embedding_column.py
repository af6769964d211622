"""`tf.feature_column.embedding_column(c, D)` -> `runtime.feature_column.embedding_column(c, D)`: the arguments stay."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
COLUMN = "item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
LAYER = "inputs = tf.feature_column.input_layer(features, [column])\n"
AFTER = "import tensorflow.compat.v1 as tf\nfrom runtime.feature_column import embedding_column\n"


@register
class EmbeddingColumn(Rule):
    """Categorical columns, input layers and parsing specs stay TensorFlow's; in evaluation unseen ids get rows, too."""

    id = "tf-embedding-column"
    title = "An embedding column becomes one over a dynamic table"
    examples = (
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
