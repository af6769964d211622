"""`tf.feature_column.embedding_column(c, D)` -> `runtime.feature_column.embedding_column(c, D)`."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.checks.check_rule import CheckRule
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.variables.embedding_columns import RULE

CATEGORY = "`{text}` is the category of this column"
LEAVE = "leave the column unchanged"
HOLDS = "convert with --assume if that holds"
WILL_DO = "convert with --assume if that is acceptable"
HEAD = "import tensorflow.compat.v1 as tf\n"
KERAS_HEAD = "import tensorflow as tf\n"
COLUMN = "item = tf.feature_column.categorical_column_with_hash_bucket('item', 1000)\n"
RANGE = "item = tf.feature_column.categorical_column_with_identity('item', 1000)\n"
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
        Refusal("weighted", "the category is weighted", "{title} has no weighted category {what}", LEAVE),
        Refusal(
            "unseen-category",
            CATEGORY,
            "{title} makes its table by the category, and the code that makes this one is not known",
            "make it in this file, bound to a name",
        ),
        Refusal(
            "shared-sequences",
            "`{text}` is the category of these columns",
            "{title} shares no table over sequences",
            "leave the columns unchanged",
        ),
        Refusal(
            "other-category",
            CATEGORY,
            "{title} has no embedding column over a `{kind}`: the rows of that one cannot grow",
            LEAVE,
        ),
        Refusal(
            "unseen-type",
            "the type of this category is not known",
            "its values may be int64 or strings",
            "give it dtype=tf.int64 or tf.string",
        ),
        Refusal(
            "other-integers",
            "the feature {feature} must be of int64",
            "{title} takes the ids as they are, and those of another integer type fail",
            HOLDS,
            "the feature {feature} is of int64",
        ),
        Refusal(
            "default-id",
            "ids of {feature} have a default",
            "an id outside of the range read the row of `default_value`, but a table gives it a row of its own",
            HOLDS,
            "every id of {feature} lies in [0, {rows})",
        ),
        Refusal(
            "negative-values",
            "the values of {feature} become ids",
            "a negative value had a row, but a table reads zeros for it",
            HOLDS,
            "no value of {feature} is negative",
        ),
        Refusal(
            "unhashed",
            "the values of {feature} are no longer hashed into buckets",
            "values of {feature} that shared one of the {rows} buckets get rows of their own",
            WILL_DO,
            "values of {feature} that shared one of the {rows} buckets get rows of their own",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "no-vocabulary",
            "{feature} is no longer looked up in a vocabulary",
            "a value outside the vocabulary had no row or a shared one, but a table gives it a row of its own",
            HOLDS,
            "every value of {feature} is in its vocabulary",
        ),
        Refusal(
            "other-order",
            "the rows of {feature} are in another order",
            "rows of {feature} begin with other random numbers of the same law",
            WILL_DO,
            "rows of {feature} begin with other random numbers of the same law",
            Applicability.CHANGES_VALUES,
        ),
        Refusal(
            "read-otherwise",
            "`{text}` is read by code other than embedding columns",
            "`{line}` needs the range of its ids",
            "use a separate category for that code",
        ),
        Refusal(
            "lacking-argument",
            "`{name}` is given",
            "{title}'s embedding column has no such argument",
            "leave it out",
        ),
        Refusal(
            "unseen-list",
            "the list of categories of these columns cannot be read",
            "{title} makes its table by each category, and the list is not written here",
            "write it here",
        ),
        Refusal(
            "two-vocabularies",
            "the vocabularies of these columns differ",
            "values at the same position in two vocabularies shared a row, but a table gives each a row of its own",
            "use one vocabulary for the columns that share a table",
        ),
        Refusal(
            "shared-category",
            "this column shares its category",
            "`{label}` uses the same category and is left unchanged",
            "use a separate category for each column",
        ),
        Refusal(
            "unread-arguments",
            "the arguments of this column, or of its category, cannot be read",
            "some are starred, or not named",
            "pass the arguments one by one",
        ),
        Refusal(
            "loaded-rows",
            "this column loads its rows",
            "the rows of a table are loaded by another function",
            "leave it out and fill the table with `runtime.checkpoint.warm_start`",
        ),
        Refusal(
            "not-trained",
            "this column, or an input layer, may not train the rows",
            "the table of a column is always trained",
            "let it train them, or leave the column unchanged",
        ),
        Refusal(
            "joint-values",
            "the initial values of this column cannot be made row by row",
            "each row is made separately, so its initial values cannot depend on other rows",
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
            "a canned estimator trains by its own optimizers, which do not support tables",
            "write a model_fn for tf.estimator.Estimator",
        ),
        Refusal(
            "no-reader",
            "no input layer in this file{others} reads the columns",
            "the code that reads the columns must also train their tables",
            "convert with --assume, and split the optimizer where the model is trained",
            "the columns are read by input_layer or DenseFeatures in a v1 graph, and its optimizer is split",
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
            "these columns share a table in a program without a v1 graph",
            "TensorFlow itself has such columns in v1 graphs alone",
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
            "list the intended variables",
        ),
        Refusal(
            "category-of-fork",
            "`{name}` makes the category",
            "it is not TensorFlow's own, and in its fork the rows grow already",
            "leave the column unchanged",
        ),
    )
    examples = (
        Example(
            "in DeepRec the categorical column creates the table",
            HEAD + RANGE + "column = tf.feature_column.embedding_column(item, 8)\n" + LAYER,
            HEAD + "item = tf.feature_column.categorical_column_with_embedding(\n    'item', dtype=tf.int64,\n    "
            "ev_option=tf.EmbeddingVariableOption(init_option=tf.InitializerOption(default_value_dim=1000))\n)\n"
            "column = tf.feature_column.embedding_column(item, 8)\n" + LAYER,
            assume=True,
            target="deeprec",
        ),
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

    def judge_moving(self, judgement: Judgement) -> None:
        """Columns over one category are converted together or not at all, because the category is created once."""
        changed = any(table.categories for table in judgement.tables)
        while changed:
            changed = False
            moving = {id(table) for table in judgement.moving}
            stuck = {id(c.call): t for t in judgement.tables if id(t) not in moving for c in t.categories}
            for table in judgement.moving:
                other = next((stuck[id(c.call)] for c in table.categories if id(c.call) in stuck), None)
                if other is not None:
                    table.blockers.append(blocker(table.creation.call, RULE, "shared-category", label=other.label))
                    changed = True
