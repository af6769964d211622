"""`sok.OptimizerWrapper(tf.train.AdagradOptimizer(0.1))` -> `adagrad.create_hash_optimizer(learning_rate=0.1, ...)`."""

from __future__ import annotations

from migrate.source.rules import Example, Refusal, Rule, register
from migrate.source.tensorflow.base.common_refusals import OF_CALLS

HEAD = "import tensorflow.compat.v1 as tf\nimport sparse_operation_kit as sok\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="1.0")\n'
AFTER = "import tensorflow.compat.v1 as tf\nfrom runtime import create_table\nfrom runtime.optimizers import "
TABLE = 'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(1.0))\n'


@register
class SokOptimizer(Rule):
    """SGD, Adagrad, Momentum and Adam of `tf.train`, SGD, Adagrad and Adam of Keras, and SOK's own.

    SOK applies an optimizer only to those rows of a DynamicVariable that are in the batch, so Adam becomes `lazy_adam`
    there. For variables of a fixed size and for layers it becomes `adam` or `keras_adam`, which update all rows.
    """

    id = "tf-sok-optimizer"
    title = "An optimizer of SparseOperationKit's variables becomes the runtime's with the same update formula"
    refusals = (
        *OF_CALLS,
        Refusal(
            "trains-others",
            "`{shown}` trains variables of another file",
            "an optimizer of tables trains only tables",
            "convert the file that makes them together with this one, both with --assume",
            "the files that make the variables of this one are converted as well",
        ),
        Refusal(
            "wrapped-used",
            "`{shown}` uses the wrapped optimizer",
            "the optimizer that trains the tables is another object, which does not follow changes of this one",
            "make an optimizer in `sok.OptimizerWrapper(...)` that nothing else uses",
        ),
        Refusal(
            "unknown-table",
            "`{shown}` is trained by an optimizer of SOK",
            "it is not known to be an SOK variable that this file makes",
            "make it in this file, or take the variables apart by sok.filter_variables",
        ),
        Refusal(
            "updated-together",
            "tables and other variables are updated together",
            "tables have separate optimizers",
            "update each list by a separate optimizer",
        ),
        Refusal(
            "unknown-wrapper",
            "`{shown}` trains variables of SOK",
            "the optimizer is not known",
            "bind `sok.OptimizerWrapper(...)` to that name alone",
        ),
        Refusal(
            "also-trains-others",
            "`{shown}` uses the optimizer as well",
            "it also trains SOK variables, for which the runtime has separate optimizers",
            "make a separate optimizer for each",
        ),
        Refusal(
            "counts-together",
            "`{shown}` trains SOK variables and others",
            "it counts the steps of both together, which changes its updates",
            "make a separate optimizer for each",
        ),
        Refusal(
            "several-optimizers",
            "`{shown}` may wrap optimizers that update differently",
            "the runtime has a separate optimizer for each formula",
            "wrap each in a call of its own",
        ),
        Refusal(
            "new-keras-optimizer",
            "`{shown}` is the new Keras optimizer",
            "with `use_legacy_optimizer=False`, its epsilon is at another place in the formula",
            "use the one of `tf.keras.optimizers.legacy`",
        ),
        Refusal(
            "made-elsewhere",
            "the variables that `{shown}` trains are made in another file",
            "it moves all rows of static variables",
            "convert with --assume if they are DynamicVariables",
            "the tables that it trains are DynamicVariables",
        ),
        Refusal(
            "both-kinds",
            "`{shown}` may train static and dynamic variables",
            "it updates all rows of static variables, but only the rows of the batch of dynamic ones",
            "make one optimizer for each kind",
        ),
        Refusal(
            "computed-option",
            "`{option}` of an optimizer is computed",
            "it is not known to mean the same where the optimizer is wrapped",
            "write the optimizer into `sok.OptimizerWrapper(...)`",
        ),
        Refusal(
            "other-use",
            "`{shown}` uses an optimizer of SOK's variables",
            "only its training steps are the same for tables",
            "call apply_gradients",
        ),
        Refusal(
            "unknown-optimizer",
            "the optimizer `{shown}` is not known",
            "the runtime has no optimizer with this formula, or its arguments cannot be read",
            "write SGD, Adagrad or Adam into the call",
        ),
        Refusal(
            "unknown-option",
            "the optimizer `{shown}` with `{option}` is not known",
            "the runtime has no optimizer with this formula, or its arguments cannot be read",
            "write SGD, Adagrad or Adam into the call",
        ),
    )
    examples = (
        Example(
            "Adagrad",
            HEAD + MADE + "opt = sok.OptimizerWrapper(tf.train.AdagradOptimizer(0.1))\n",
            AFTER
            + "adagrad\n"
            + TABLE
            + "opt = adagrad.create_hash_optimizer(learning_rate=0.1, initial_accumulator_value=0.1)\n",
        ),
        Example(
            "Adam, which SOK runs on the rows of the batch",
            HEAD + MADE + "opt = sok.OptimizerWrapper(tf.train.AdamOptimizer(0.1, beta1=0.8))\n",
            AFTER + "lazy_adam\n" + TABLE + "opt = lazy_adam.create_hash_optimizer(learning_rate=0.1, beta1=0.8)\n",
        ),
        Example(
            "an optimizer that the runtime does not have",
            HEAD + MADE + "opt = sok.OptimizerWrapper(tf.keras.optimizers.Nadam(0.1))\n",
            says="is not known",
        ),
    )
