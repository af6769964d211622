"""Variables that start from a checkpoint."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
AFTER = (
    "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
DENSE = 'tf.train.init_from_checkpoint(path, {"dense/": "dense/"})\n'


@register
class WarmStart(Rule):
    """`init_from_checkpoint` and warm starts fill variables by name; what names only other variables stops no table."""

    id = "tf-warm-start"
    title = "A variable that starts from a checkpoint stays as it is"
    applicability = None
    examples = (
        Example("all variables", HEAD + MADE + 'tf.train.init_from_checkpoint(path, {"/": "/"})\n', says="by variable"),
        Example("other variables", HEAD + MADE + DENSE, HEAD + AFTER + DENSE),
        Example(
            "an Estimator",
            HEAD + MADE + "m = tf.estimator.Estimator(model_fn, warm_start_from=path)\n",
            says="by variable name",
        ),
    )
