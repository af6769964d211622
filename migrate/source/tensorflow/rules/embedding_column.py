"""`tf.feature_column.embedding_column(c, D)` -> `runtime.feature_column.embedding_column(c, D)`."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.checks.judgement import CheckRule
from migrate.source.tensorflow.facts.variables.embedding_columns import RULE

HEAD = "import tensorflow.compat.v1 as tf\n"
KERAS_HEAD = "import tensorflow as tf\n"
COLUMN = "item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
LAYER = "inputs = tf.feature_column.input_layer(features, [column])\n"
AFTER = "import tensorflow.compat.v1 as tf\nfrom runtime.feature_column import embedding_column\n"


@register
class EmbeddingColumn(CheckRule):
    """Categories, input layers and parsing specs are left unchanged.

    In a v1 graph unseen ids get rows in evaluation, too. A model of Keras that reads columns by `DenseFeatures` trains
    their tables itself; evaluation and prediction insert nothing then.
    """

    id = RULE
    title = "An embedding column becomes one over a dynamic table"
    words = "embedding_column"
    refusals = (
        Refusal(
            "category-of-fork",
            "`{name}` creates the categorical column",
            "it belongs to a fork of TensorFlow, whose tables grow already",
            "leave the column unchanged",
        ),
        Refusal(
            "unread-arguments",
            "the arguments of this column, or of its category, cannot be read",
            "some are given by `*` or `**`, or without their names",
            "pass each argument by its name",
        ),
        Refusal(
            "loaded-rows",
            "`ckpt_to_load_from` loads the rows of this column",
            "a table is filled by a call of its own",
            "remove the argument, and fill the table with `runtime.checkpoint.warm_start`",
        ),
        Refusal(
            "not-trained",
            "`trainable` of this column, or of an input layer, may be False",
            "the table of a column is always trained",
            "remove `trainable`, or leave the column unchanged",
        ),
        Refusal(
            "joint-values",
            "the initial values of this column cannot be computed row by row",
            "each row is computed separately, so its initial values cannot depend on other rows",
            "give it a constant, uniform or normal initializer",
        ),
        Refusal(
            "unknown-values",
            "the initial values of this column are not known",
            "they are decided at run time, and the runtime does not support all initializers",
            "convert with --assume if the initializer is constant, uniform, normal or variance scaling",
            "the initializer is constant, uniform, normal or variance scaling",
        ),
        Refusal(
            "canned-estimator",
            "`{text}` may read the columns",
            "a canned estimator creates the variables itself, and trains them by optimizers that do not support tables",
            "train it with `migrate run`, which needs no change of the source, or write a model_fn",
        ),
        Refusal(
            "no-reader",
            "no input layer in this file{others} reads the columns",
            "the code that reads the columns must also train their tables",
            "convert with --assume, and train the tables by a table optimizer where the model is trained",
            (
                "input_layer or DenseFeatures reads the columns in a v1 graph, and a table optimizer trains "
                "their tables there"
            ),
        ),
        Refusal(
            "no-reader-of-keras",
            "no `DenseFeatures` in this program reads the columns",
            "the code that reads the columns must also train their tables",
            "convert with --assume if a model of Keras reads them by DenseFeatures",
            "a layer DenseFeatures or SequenceFeatures of a model of Keras reads the columns",
        ),
        Refusal(
            "eager-shared",
            "these columns share a table, but the program builds no v1 graph",
            "TensorFlow supports shared columns in v1 graphs alone",
            "use one column for each feature",
        ),
        Refusal(
            "other-variables",
            "`{word}` of a layer that reads columns",
            "it changes how their variables are stored, and a table holds whole rows of float32",
            "leave it out, or leave the columns unchanged",
        ),
        Refusal(
            "other-policy",
            "`{text}` sets the type in which layers compute",
            "the rows of a variable are rounded to that type before they are pooled, and those of a table are not",
            "compute in float32, or leave the columns unchanged",
        ),
        Refusal(
            "listed-variables",
            "`{word}` lists the variables of columns",
            "tables are not in that list",
            "list the variables that you need by name",
        ),
    )
    examples = (
        Example(
            "the column is replaced, its category and the input layer are left unchanged",
            HEAD + COLUMN + "column = tf.feature_column.embedding_column(item, 8, combiner='sum')\n" + LAYER,
            AFTER + COLUMN + "column = embedding_column(item, 8, combiner='sum')\n" + LAYER,
        ),
        Example(
            "a model of Keras reads the columns",
            KERAS_HEAD
            + COLUMN
            + "columns = [tf.feature_column.embedding_column(item, 8)]\n"
            + "model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), tf.keras.layers.Dense(1)])\n"
            + "model.compile('adam', 'mse')\n",
            KERAS_HEAD
            + "from runtime.feature_column import embedding_column\n"
            + COLUMN
            + "columns = [embedding_column(item, 8)]\n"
            + "model = tf.keras.Sequential([tf.keras.layers.DenseFeatures(columns), tf.keras.layers.Dense(1)])\n"
            + "model.compile('adam', 'mse')\n",
        ),
        Example(
            "canned estimators make their own training step",
            HEAD + COLUMN + "column = tf.feature_column.embedding_column(item, 8)\n"
            "model = tf.estimator.DNNClassifier([8], [column])\n",
            says="canned",
        ),
        Example(
            "columns that another file uses",
            HEAD + "def columns(item):\n    return [tf.feature_column.embedding_column(item, 8)]\n",
            says="--assume",
        ),
    )
