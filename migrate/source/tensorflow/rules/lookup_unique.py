"""`tf.contrib.layers.embedding_lookup_unique(W, ids)` -> `sparse_lookup(W, ids)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, register
from migrate.source.tensorflow.base.arguments import bind
from migrate.source.tensorflow.base.model import Blocker, Lookup
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER, TABLE
from migrate.source.tensorflow.facts.variables.lookups import make_lookup, strategy

PARAMETERS = ("params", "ids", "partition_strategy", "name")


@register
class LookupUnique(LookupRule):
    """It reads the row of each distinct id once, as `sparse_lookup` does, and gives a row for each id."""

    id = "tf-lookup-unique"
    title = "`tf.contrib.layers.embedding_lookup_unique` on a table becomes `sparse_lookup`"
    symbols = frozenset({"contrib.layers.embedding_lookup_unique"})
    takes_lists = True
    examples = (
        Example(
            "arguments that only concern partitions are removed",
            HEAD + TABLE + 'e = tf.contrib.layers.embedding_lookup_unique(W, x, "div", name="e")\n',
            HEAD_AFTER + CREATED + 'e = sparse_lookup(W, x, name="e")\n',
        ),
        Example(
            "a list of one partition, by name",
            "from tensorflow.contrib.layers import embedding_lookup_unique\n"
            + HEAD
            + TABLE
            + "e = embedding_lookup_unique(params=[W], ids=x)\n",
            "from tensorflow.contrib.layers import embedding_lookup_unique\n"
            + HEAD_AFTER
            + CREATED
            + "e = sparse_lookup(hashtable=W, ids=x)\n",
        ),
        Example("not a variable", HEAD + "e = tf.contrib.layers.embedding_lookup_unique(tf.constant([[1.0]]), x)\n"),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = bind(call, PARAMETERS)
        return bound.get("params") if bound else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        bound = bind(call, PARAMETERS) or {}
        spread = strategy(bound.get("partition_strategy"), "mod")
        return make_lookup(call, self.id, bound, "ids", keep=("name",), strategy=spread)
