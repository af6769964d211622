"""`tf.nn.embedding_lookup(W, ids)` -> `sparse_lookup(W, ids)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.args import bind, is_none, string
from migrate.source.frontends.tensorflow.facts import Lookup, Stop
from migrate.source.frontends.tensorflow.kinds import File, LookupRule
from migrate.source.frontends.tensorflow.lookups import make_lookup
from migrate.source.rules import Example, register

PARAMETERS = ("params", "ids", "partition_strategy", "name", "validate_indices", "max_norm")
HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("u", [9, 4], initializer=tf.zeros_initializer())\n'
AFTER = (
    HEAD + "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="u", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)


@register
class EmbeddingLookup(LookupRule):
    """The ordinary lookup."""

    id = "tf-embedding-lookup"
    title = "`tf.nn.embedding_lookup` on a table becomes `sparse_lookup`"
    symbols = frozenset({"nn.embedding_lookup"})
    examples = (
        Example(
            "arguments that only concern partitions are dropped",
            HEAD + MADE + 'e = tf.nn.embedding_lookup(params=W, ids=x, partition_strategy="div", name="e")\n',
            AFTER + 'e = sparse_lookup(hashtable=W, ids=x, name="e")\n',
        ),
        Example(
            "ids may be a list, of numbers or of tensors",
            HEAD + MADE + "e = tf.nn.embedding_lookup(W, [x, y])\n",
            AFTER + "e = sparse_lookup(W, [x, y])\n",
        ),
        Example("max_norm", HEAD + MADE + "e = tf.nn.embedding_lookup(W, x, max_norm=1.0)\n", says="max_norm"),
        Example("not a variable", HEAD + "e = tf.nn.embedding_lookup(tf.constant([[1.0]]), x)\n"),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = bind(call, PARAMETERS)
        return bound.get("params") if bound else None

    def read(self, file: File, call: cst.Call) -> Lookup | Stop:
        bound = bind(call, PARAMETERS) or {}
        strategy = bound.get("partition_strategy")
        clipped = "max_norm" in bound and not is_none(bound["max_norm"])
        if clipped or (strategy is not None and strategy.keyword is None and string(strategy.value) is None):
            reason = "rows are clipped by `max_norm` when they are read"
            return Stop(call, self.id, "`max_norm=` is not converted yet", reason, "clip the looked-up rows instead")
        return make_lookup(call, self.id, bound, ids="ids", keep=("name",))
