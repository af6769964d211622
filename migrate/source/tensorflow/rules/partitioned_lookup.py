"""`tf.nn.embedding_lookup([a, b], ids)` -> `partitioned_lookup([a, b], ids)`: every id reads the row it read before."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Lookup
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.rules.embedding_lookup import EmbeddingLookup

ONE = EmbeddingLookup()
HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = "".join(f'{n} = tf.get_variable("{n}", [9, 4], initializer=tf.zeros_initializer())\n' for n in "ab")
TABLES = "".join(
    f'{n} = create_table(key_dtype=tf.int64, dim=4, name="{n}", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
    for n in "ab"
)
AFTER = HEAD + "from runtime import create_table, partitioned_lookup\n" + TABLES


@register
class PartitionedLookup(LookupRule):
    """Each variable of the list becomes a table of its own."""

    id = "tf-partitioned-lookup"
    title = "A lookup in a list of variables becomes a lookup in a list of tables"
    symbols = frozenset({"nn.embedding_lookup"})
    refusals = (
        Refusal(
            "repeated-partition",
            "this list of partitions repeats one",
            "one variable is used as several partitions, so one row has several ids",
            "list each variable once",
        ),
        Refusal(
            "no-strategy",
            "this lookup gives no `partition_strategy`",
            "TensorFlow 1 spreads ids by `mod`, TensorFlow 2 by `div`",
            "write tf.compat.v1.nn.embedding_lookup and its partition_strategy",
        ),
        Refusal(
            "computed-strategy",
            "`partition_strategy=` is not a literal",
            "how ids are spread over the variables is decided at run time",
            "write it as a literal",
        ),
    )
    examples = (
        Example(
            "round robin (`mod`), the default of v1",
            HEAD + MADE + "e = tf.nn.embedding_lookup([a, b], x)\n",
            AFTER + "e = partitioned_lookup([a, b], x)\n",
        ),
        Example(
            "contiguous ranges (`div`)",
            HEAD + MADE + 'e = tf.nn.embedding_lookup(params=[a, b], ids=x, partition_strategy="div", name="e")\n',
            AFTER + 'e = partitioned_lookup(tables=[a, b], ids=x, partition_strategy="div", name="e")\n',
        ),
        Example(
            "the default of `tf.nn` differs between TensorFlow 1 and 2",
            HEAD + MADE + "import tensorflow as t2\ne = t2.nn.embedding_lookup([a, b], x)\n",
            says="partition_strategy",
        ),
        Example(
            "a variable that is listed twice",
            HEAD + MADE + "e = tf.nn.embedding_lookup([a, b, a], x)\n",
            says="repeats one",
        ),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        return ONE.table(call)

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        element = file.tree.parent(node)
        listed: cst.CSTNode | None = file.tree.parent(element) if isinstance(element, cst.Element) else None
        if not isinstance(listed, cst.List) or len(listed.elements) < 2:
            return None
        arg = file.tree.parent(listed)
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        known = isinstance(call, cst.Call) and file.names.of(call.func) in self.symbols
        return call if known and isinstance(call, cst.Call) and self.table(call) is arg else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        lookup = ONE.read(file, call)
        arg = self.table(call)
        if isinstance(lookup, Blocker) or arg is None:
            return lookup
        parts = tuple(element.value for element in arg.value.elements) if isinstance(arg.value, cst.List) else ()
        if len({file.tree.source(part) for part in parts}) < len(parts):
            return blocker(call, self.id, "repeated-partition")
        imported, _ = file.tree.imported_names(call.func)
        if lookup.strategy == "default" and not all(name.startswith("tensorflow.compat.v1.") for name in imported):
            return blocker(call, self.id, "no-strategy")
        if lookup.strategy not in {"default", "div", "mod"}:
            return blocker(call, self.id, "computed-strategy")
        drop = tuple(one for one in lookup.drop if not _is_strategy(call, one))
        gone = tuple(name for name in lookup.dropped if name != "partition_strategy")
        return replace(
            lookup, rule=self.id, drop=drop, listed=None, parts=parts, function="partitioned_lookup", dropped=gone
        )


def _is_strategy(call: cst.Call, arg: cst.Arg) -> bool:
    if arg.keyword is not None:
        return arg.keyword.value == "partition_strategy"
    return len(call.args) > 2 and call.args[2] is arg
