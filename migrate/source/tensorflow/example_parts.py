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
