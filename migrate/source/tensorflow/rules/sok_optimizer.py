"""`sok.OptimizerWrapper(tf.train.AdagradOptimizer(0.1))` -> `adagrad.create_hash_optimizer(learning_rate=0.1, ...)`."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\nimport sparse_operation_kit as sok\n"
MADE = 'item = sok.DynamicVariable(dimension=8, initializer="1.0")\n'
AFTER = "import tensorflow.compat.v1 as tf\nfrom runtime import create_table\nfrom runtime.optimizers import "
TABLE = 'item = create_table(key_dtype=tf.int64, dim=8, name="item", emb_initializer=tf.constant_initializer(1.0))\n'


@register
class SokOptimizer(Rule):
    """SGD, Adagrad, Momentum and Adam of `tf.train`, SGD, Adagrad and Adam of Keras, and SOK's own.

    SOK runs an optimizer on the rows of the batch of a DynamicVariable: Adam becomes `lazy_adam` there, and `adam` or
    `keras_adam`, which move all rows, for its variables of a fixed size and for its layers.
    """

    id = "tf-sok-optimizer"
    title = "An optimizer of SparseOperationKit's variables becomes the runtime's of the same formula"
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
            "one that the runtime has not",
            HEAD + MADE + "opt = sok.OptimizerWrapper(tf.keras.optimizers.Nadam(0.1))\n",
            says="is not known",
        ),
    )
