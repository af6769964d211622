"""Parts of programs that the examples of several rules are made of: a table that is looked up, before and after."""

HEAD = "import tensorflow.compat.v1 as tf\n"
TABLE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
LOOKUP = "e = tf.nn.embedding_lookup(W, ids)\n"
MADE = TABLE + LOOKUP
MODEL = HEAD + MADE
#: The same with the initial values that TensorFlow gives to a variable without an initializer.
DEFAULT_MODEL = MODEL.replace(", initializer=tf.zeros_initializer()", "")
#: What becomes of them.
IMPORTS = "from runtime import create_table, sparse_lookup\n"
HEAD_AFTER = HEAD + IMPORTS
CREATED = (
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)
CONVERTED = CREATED + "e = sparse_lookup(W, ids)\n"
AFTER = IMPORTS + CONVERTED
MODEL_AFTER = HEAD + AFTER


def split_step(loss: str, optimizer: str, of_tables: str, listed: str = "") -> str:
    """Return what `minimize(loss)` of an optimizer becomes; `of_tables` makes the optimizer of the tables."""
    return (
        f"dense_vars, sparse_vars = get_dense_and_sparse_variable({listed})\n"
        f"dense_optimizer = {optimizer}\n"
        f"sparse_optimizer = {of_tables}\n"
        f"grads = dense_optimizer.compute_gradients({loss}, dense_vars + sparse_vars)\n"
        "dense_grads = [pair for pair in grads[: len(dense_vars)] if pair[0] is not None]\n"
        "sparse_grads = [pair for pair in grads[len(dense_vars) :] if pair[0] is not None]\n"
        "op = tf.group(*([dense_optimizer.apply_gradients(dense_grads or grads)]"
        " if dense_grads or not sparse_grads else []),\n"
        "              *([sparse_optimizer.apply_gradients(sparse_grads)] if sparse_grads else []))\n"
    )
