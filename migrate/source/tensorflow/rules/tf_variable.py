"""`tf.Variable(tf.random_normal([V, D], m, s), name=n)` -> `create_table(dim=D, emb_initializer=...(m, s), ...)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import bind, is_none, string
from migrate.source.tensorflow.base.model import Creation, Naming
from migrate.source.tensorflow.base.rule_kinds import CreationRule, File
from migrate.source.tensorflow.example_parts import HEAD, HEAD_AFTER
from migrate.source.tensorflow.facts.variables.creations import read_initial_op, refuse, refuse_options
from migrate.source.tensorflow.facts.variables.eager_variables import is_eager
from migrate.source.tensorflow.facts.variables.initializer_passthrough import read_initializer_call

PARAMETERS = [
    "initial_value", "trainable", "collections", "validate_shape", "caching_device", "name", "variable_def", "dtype",
    "expected_shape", "import_scope", "constraint", "use_resource", "synchronization", "aggregation", "shape",
]  # fmt: skip


@register
class Variable(CreationRule):
    """A variable that `tf.Variable` creates from an operation for its initial value, such as `tf.random_normal`."""

    id = "tf-variable"
    title = "A `tf.Variable` that is looked up becomes a dynamic table"
    symbols = frozenset({"Variable"})
    refusals = (
        Refusal(
            "eager-code",
            "this variable cannot become a table",
            "eager code creates it, and a gradient tape or Keras trains it",
            "use a `keras.layers.Embedding` in its place, and call it with the ids",
        ),
    )
    examples = (
        Example(
            "the initial-value op becomes an initializer with the same parameters",
            HEAD + 'W = tf.Variable(tf.random_normal([n, 8], 0.0, 0.01), name="user")\n'
            "e = tf.nn.embedding_lookup(W, ids)\n",
            HEAD_AFTER + 'W = create_table(key_dtype=tf.int64, dim=8, name="user", device_vocabulary_size=n,\n'
            "                 emb_initializer=tf.random_normal_initializer(mean=0.0, stddev=0.01))\n"
            "e = sparse_lookup(W, ids)\n",
        ),
        Example(
            "each iteration of a loop creates a table",
            HEAD + "W = [tf.Variable(tf.zeros([n, 8])) for n in sizes]\ne = tf.nn.embedding_lookup(W[0], ids)\n",
            HEAD + "from runtime import create_table, sparse_lookup, unique_name\n"
            'W = [create_table(key_dtype=tf.int64, dim=8, name=unique_name("W"), device_vocabulary_size=n,\n'
            "                  emb_initializer=tf.zeros_initializer()) for n in sizes]\n"
            "e = sparse_lookup(W[0], ids)\n",
        ),
        Example(
            "a pre-trained matrix",
            HEAD + "W = tf.Variable(matrix)\ne = tf.nn.embedding_lookup(W, ids)\n",
            says="initial values",
        ),
        Example(
            "a matrix that is assumed to be one of float32, not trained",
            HEAD + "import numpy as np\nmatrix = np.zeros((n, 8), np.float32)\n"
            "W = tf.Variable(matrix, trainable=False)\ne = tf.nn.embedding_lookup(W, ids)\n",
            HEAD + "import numpy as np\nfrom runtime import sparse_lookup, table_of_rows\n"
            'matrix = np.zeros((n, 8), np.float32)\nW = table_of_rows(rows=matrix, name="W", trainable=False)\n'
            "e = sparse_lookup(W, ids)\n",
            assume=True,
        ),
    )

    def read(self, file: File, call: cst.Call) -> Creation:
        creation = Creation(call, self.id, naming=Naming(unique=True))
        if is_eager(file, call):
            refuse(creation, call, "eager-code")
        bound = bind(call, PARAMETERS)
        if bound is None or "initial_value" not in bound:
            refuse(creation, call, "unread-arguments")
            return creation
        if "name" in bound:
            creation.name = string(bound["name"].value)
            computed = creation.name is None and not is_none(bound["name"])
            creation.naming.computed = bound["name"].value if computed else None
        refuse_options(creation, file, bound)
        value = bound["initial_value"].value
        if not read_initializer_call(creation, file, value):
            read_initial_op(creation, file, value)
        return creation
