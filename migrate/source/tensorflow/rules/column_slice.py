"""`tf.nn.embedding_lookup(W[:, :k], ids)` -> `sparse_lookup(W, ids)[..., :k]`."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from migrate.source.rules import Example, Refusal, register
from migrate.source.tensorflow.base.arguments import number
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Lookup
from migrate.source.tensorflow.base.repeatable import is_repeatable
from migrate.source.tensorflow.base.rule_kinds import File, LookupRule
from migrate.source.tensorflow.rules.embedding_lookup import EmbeddingLookup
from migrate.source.tensorflow.rules.gather import Gather

READERS: dict[str, LookupRule] = {"nn.embedding_lookup": EmbeddingLookup(), "gather": Gather()}
IDLE = "the gradient of a slice has a row for every id"
HEAD = "import tensorflow.compat.v1 as tf\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
AFTER = (
    HEAD + "from runtime import create_table, sparse_lookup\n"
    'W = create_table(key_dtype=tf.int64, dim=4, name="w", device_vocabulary_size=9, '
    "emb_initializer=tf.zeros_initializer())\n"
)


@register
class ColumnSlice(LookupRule):
    """A slice of columns and a lookup of rows commute: the slice is applied to the result of the lookup."""

    id = "tf-column-slice"
    title = "A lookup in a slice of columns becomes a slice of a lookup's result"
    symbols = frozenset(READERS)
    refusals = (
        Refusal(
            "max-norm",
            "this lookup of some columns has a `max_norm`",
            "the norm is that of the columns that are read, not of the whole row",
            "clip its result instead",
        ),
    )
    examples = (
        Example(
            "the first columns",
            HEAD + MADE + "e = tf.nn.embedding_lookup(W[:, :k], x)\n",
            AFTER + "e = sparse_lookup(W, x)[..., :k]\n",
        ),
        Example(
            "two parts of one table",
            HEAD + MADE + 'e = tf.nn.embedding_lookup(params=W[:, 2:], ids=x, name="e")\nf = tf.gather(W[:, 0], y)\n',
            AFTER + 'e = sparse_lookup(hashtable=W, ids=x, name="e")[..., 2:]\nf = sparse_lookup(W, y)[..., 0]\n',
        ),
        Example("rows by position", HEAD + MADE + "e = tf.nn.embedding_lookup(W[1:, :2], x)\n" + "f = W[2]\n"),
        Example(
            "`max_norm` applies to the columns, not to the whole row",
            HEAD + MADE + "e = tf.nn.embedding_lookup(W[:, :2], x, max_norm=1.0)\n",
            says="max_norm",
        ),
    )

    def table(self, call: cst.Call) -> cst.Arg | None:
        return next((arg for reader in READERS.values() if (arg := reader.table(call)) is not None), None)

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        sliced = file.tree.parent(node)
        if not isinstance(sliced, cst.Subscript) or sliced.value is not node or _columns(file, sliced) is None:
            return None
        arg = file.tree.parent(sliced)
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        reader = READERS.get(file.names.of(call.func) or "") if isinstance(call, cst.Call) else None
        return call if reader is not None and isinstance(call, cst.Call) and reader.table(call) is arg else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        reader = READERS[file.names.of(call.func) or ""]
        lookup = reader.read(file, call)
        arg = reader.table(call)
        if isinstance(lookup, Blocker) or arg is None or not isinstance(arg.value, cst.Subscript):
            return lookup
        if any(lookup.around):
            return blocker(call, self.id, "max-norm")
        columns = f"[..., {_columns(file, arg.value)}]"
        return replace(lookup, rule=self.id, sliced=arg.value, around=("", columns), idle=IDLE, dense=True)


def _columns(file: File, sliced: cst.Subscript) -> str | None:
    """Return the second part of `[:, columns]`: a slice or a number; None for another subscript."""
    parts = [element.slice for element in sliced.slice]
    if len(parts) != 2 or not isinstance(parts[0], cst.Slice) or any((parts[0].lower, parts[0].upper, parts[0].step)):
        return None
    if not is_repeatable(parts[1]):
        return None  # it would be evaluated after the ids, in another order than before
    if isinstance(parts[1], cst.Index) and (parts[1].star or number(parts[1].value) is None):
        return None
    return file.tree.source(parts[1]).strip()
