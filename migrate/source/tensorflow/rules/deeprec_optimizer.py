"""DeepRec's optimizers -> those of `runtime.optimizers.deeprec`."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'item = tf.get_embedding_variable("item", 8)\nrows = tf.nn.embedding_lookup(item, ids)\n'
AFTER = 'item = create_counted_table("item", 8)\nrows = sparse_lookup(item, ids)\n'


@register
class DeepRecOptimizer(Rule):
    """AdagradDecay, AdamAsync and AdamW train both tables and variables, with unchanged arguments.

    FTRL becomes `GroupFtrlOptimizer`, which applies the L1 term to the norm of a table's row, as DeepRec's does, and
    is TensorFlow's FTRL on variables. Stock optimizers are left unchanged: all of them update only the rows of a
    batch.
    """

    id = "tf-deeprec-optimizer"
    title = "DeepRec's optimizers become those of the runtime"
    examples = (
        Example(
            "one optimizer for tables and variables",
            HEAD + MADE + "train = tf.train.AdamAsyncOptimizer(0.01, beta1=0.8).minimize(loss)\n",
            HEAD + "from runtime import create_counted_table, sparse_lookup\n"
            "from runtime.optimizers.deeprec import AdamAsyncOptimizer\n"
            + AFTER
            + "train = AdamAsyncOptimizer(0.01, beta1=0.8).minimize(loss)\n",
        ),
        Example("no table", HEAD + "train = tf.train.AdamWOptimizer(0.1).minimize(loss)\n"),
    )
