"""Variables that are read by their names."""

from __future__ import annotations

from migrate.source.rules import Example, Rule, register

HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
AFTER = (
    "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\ne = sparse_lookup(W, ids)\n"
)
OTHER = 'b = sess.run("bias:0")\n'
COMPUTED = "x = graph.get_tensor_by_name(name)\n"


@register
class ReadByName(Rule):
    """A fetch, a hook or a checkpoint reader that names the variable would find no rows there.

    With `--assume`, a name that is computed is taken to be that of something else.
    """

    id = "tf-read-by-name"
    title = "A variable that is read by its name stays as it is"
    applicability = None
    examples = (
        Example("fetched by name", HEAD + MADE + 'rows = sess.run("w:0")\n', says="by its name"),
        Example(
            "a hook",
            HEAD + MADE + 'h = tf.train.LoggingTensorHook({"rows": "w/read:0"}, every_n_iter=9)\n',
            says="by its name",
        ),
        Example("from a checkpoint", HEAD + MADE + 'rows = tf.train.load_variable(path, "w")\n', says="by its name"),
        Example("another variable", HEAD + MADE + OTHER, HEAD + AFTER + OTHER),
        Example("a computed name", HEAD + MADE + COMPUTED, says="may read"),
        Example("a computed name, assumed", HEAD + MADE + COMPUTED, HEAD + AFTER + COMPUTED, assume=True),
    )
