"""`tf.nn.embedding_lookup(W, ids)` -> `sparse_lookup(W, ids)`."""

from __future__ import annotations

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import is_none, literal, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Blocker, Lookup, blocker
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.example_parts import CREATED, HEAD, HEAD_AFTER, TABLE
from migrate.source.tensorflow.facts.variables.lookups import bind_either, make_lookup, strategy

ORDERS = (
    ("params", "ids", "partition_strategy", "name", "validate_indices", "max_norm"),
    ("params", "ids", "max_norm", "name"),
)
V1 = "tensorflow.compat.v1."
AFTER = HEAD_AFTER + CREATED


@register
class EmbeddingLookup(LookupRule):
    """A dense lookup: each id gives one row of the table."""

    id = "tf-embedding-lookup"
    title = "`tf.nn.embedding_lookup` on a table becomes `sparse_lookup`"
    symbols = frozenset({"nn.embedding_lookup"})
    words = "embed"  # a lookup of another library or file has it, too; one whose table is not found is reported
    takes_lists = True
    refusals = (
        Refusal(
            "ambiguous-argument",
            "the third argument of this lookup is not a literal",
            "it may be `partition_strategy` (v1) or `max_norm` (v2)",
            "pass it by name",
        ),
        Refusal(
            "strategy-number",
            "the third argument of this lookup is a number",
            "in the v1 API it is the partition strategy, which cannot be a number",
            "leave it out, or write `max_norm=`",
        ),
        Refusal(
            "computed-norm",
            "`max_norm=` is not a number",
            "whether rows are clipped when they are read is decided at run time",
            "clip the looked-up rows by tf.clip_by_norm",
        ),
    )
    examples = (
        Example(
            "arguments that only concern partitions are removed",
            HEAD + TABLE + 'e = tf.nn.embedding_lookup(params=W, ids=x, partition_strategy="div", name="e")\n',
            AFTER + 'e = sparse_lookup(hashtable=W, ids=x, name="e")\n',
        ),
        Example(
            "rows are clipped by `max_norm` after the lookup",
            HEAD + TABLE + 'e = tf.nn.embedding_lookup(W, x, max_norm=1.0, name="e")\n',
            AFTER + 'e = tf.clip_by_norm(sparse_lookup(W, x, name="e"), 1.0, axes=-1)\n',
        ),
        Example(
            "a list of one partition",
            HEAD + TABLE + "e = tf.nn.embedding_lookup([W], x)\n",
            AFTER + "e = sparse_lookup(W, x)\n",
        ),
        Example(
            "a norm that is computed at run time",
            HEAD + TABLE + "e = tf.nn.embedding_lookup(W, x, max_norm=flags.norm)\n",
            says="max_norm",
        ),
        Example("not a variable", HEAD + "e = tf.nn.embedding_lookup(tf.constant([[1.0]]), x)\n"),
    )

    def _bind(self, call: cst.Call) -> dict[str, cst.Arg] | None:
        return bind_either(call, ORDERS, 2, _version)

    def table(self, call: cst.Call) -> cst.Arg | None:
        bound = self._bind(call)
        return bound.get("params") if bound else next(iter(call.args), None)

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        bound = self._bind(call)
        if bound is None:
            return blocker(call, self.id, "ambiguous-argument")
        norm = bound.get("max_norm")
        imported, _ = file.tree.imported_names(call.func)
        if norm is not None and norm.keyword is None and any(name.startswith(V1) for name in imported):
            return blocker(call, self.id, "strategy-number")
        around = ("", "")
        if norm is not None and not is_none(norm):
            if number(resolve(file.tree, norm.value)) is None:
                return blocker(call, self.id, "computed-norm")
            around = ("{tf}.clip_by_norm(", f", {file.tree.source(norm.value)}, axes=-1)")
        spread = strategy(bound.get("partition_strategy"), "default")
        read = ("max_norm",)
        return make_lookup(call, self.id, bound, "ids", keep=("name",), read=read, around=around, strategy=spread)


def _version(third: cst.Arg) -> int | None:
    value = literal(third.value)
    if isinstance(value, str):
        return 0
    return None if value is ... else 1
