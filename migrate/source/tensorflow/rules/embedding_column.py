"""`tf.feature_column.embedding_column(c, D)` -> `runtime.feature_column.embedding_column(c, D)`: the arguments stay."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register

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
    refusals = (
        Refusal(
            "unread-arguments",
            "the arguments of this column cannot be read",
            "some are starred",
            "pass the arguments one by one",
        ),
        Refusal(
            "loaded-rows",
            "this column loads its rows",
            "a table is filled otherwise",
            "leave it out and fill the table with `runtime.checkpoint.warm_start`",
        ),
        Refusal(
            "not-trained",
            "this column may not be trained",
            "a table is trained",
            "leave the column as it is",
        ),
        Refusal(
            "joint-values",
            "the initial values of this column cannot be made row by row",
            "a row is made alone, so its initial values cannot depend on other rows",
            "give it a constant, uniform or normal initializer",
        ),
        Refusal(
            "unknown-values",
            "the initial values of this column",
            "what they are is decided at run time, and the runtime refuses some",
            "convert with --assume if they are simple",
            "the initializer is constant, uniform, normal or variance scaling",
        ),
        Refusal(
            "canned-estimator",
            "`{text}` may read the columns",
            "a canned estimator trains by optimizers of its own, which know no tables",
            "write a model_fn for tf.estimator.Estimator",
        ),
        Refusal(
            "no-reader",
            "no input layer in this file{others} reads the columns",
            "who reads them must also train their tables",
            "convert with --assume, and split the optimizer where the model is trained",
            "the columns are read by input_layer or DenseFeatures in a v1 graph, and its optimizer is split",
        ),
        Refusal(
            "listed-variables",
            "`{word}` lists variables of columns",
            "tables are not in that list",
            "list the variables that are meant",
        ),
        Refusal(
            "untrained-layer",
            "an input layer may not train its columns",
            "a table is trained",
            "let it train its columns, or keep them dense",
        ),
        Refusal(
            "category-of-target",
            "`{name}` makes the category",
            "it is not TensorFlow's own, and in its fork the rows grow already",
        ),
        Refusal(
            "category-of-fork",
            "`{name}` makes the category",
            "it is not TensorFlow's own, and in its fork the rows grow already",
            "leave the column as it is",
        ),
    )
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
