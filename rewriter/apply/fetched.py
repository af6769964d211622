"""What ops give that a table replaces, if user code still fetches them: the rows, or an error that says what to do."""

from __future__ import annotations

from collections.abc import Iterable
from weakref import WeakKeyDictionary

import tensorflow as tf

from rewriter.analysis.already_moved import SCOPE
from rewriter.facts import Lookup

_rows: WeakKeyDictionary[tf.Graph, dict[str, tf.Tensor]] = WeakKeyDictionary()


def gathered_rows(graph: tf.Graph) -> dict[str, tf.Tensor]:
    """Return by names of tensors what is in their place: of a gather or a write the rows, of wide ids the buckets."""
    return _rows.get(graph, {})


def fetched_instead(old: tf.Tensor, new: tf.Tensor) -> None:
    """Note what programs that know nothing of tables fetch in the place of a tensor."""
    _rows.setdefault(old.graph, {})[old.name] = new


def row_numbers(lookup: Lookup, ids: tf.Tensor) -> tf.Tensor:
    """Return 0, 1, ... in the shape of the ids, to pick the looked-up rows one by one; a stitch needs int32."""
    if lookup.gathers:
        return tf.compat.v1.placeholder_with_default(tf.range(tf.size(ids)), [None])
    if lookup.product:
        return tf.ensure_shape(tf.stack([ids[:, 0], tf.range(tf.shape(ids, ids.dtype)[0])], 1), ids.shape)
    return tf.reshape(tf.range(tf.size(ids, ids.dtype)), tf.shape(ids))


def size_of_product(shape: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Return the shape of a sparse matrix whose entries are one to a column, by that of the old one."""
    return tf.stack([shape[0], tf.shape(ids, shape.dtype)[0]])


def of_any_number(rows: tf.Tensor) -> tf.Tensor:
    """Drop the static row count: TensorFlow moves an edge only between tensors whose static shapes agree."""
    return tf.compat.v1.placeholder_with_default(rows, [None, *rows.shape[1:]])


def gone(table: str) -> tf.Operation:
    """Build an op that raises when an op that reads the variable itself is run; the message says what to do."""
    text = (
        f"the variable `{table}` has become a table and cannot be fetched: fetch results of its lookups, or call "
        "table.snapshot()"
    )
    with tf.name_scope(f"{SCOPE}{table}/"):
        return tf.raw_ops.Assert(condition=tf.constant(False), data=[text], name="gone")


def written_rows(ops: Iterable[str], rows: tf.Tensor) -> None:
    """Note all rows after a write, for ops whose value was the whole variable then."""
    _rows.setdefault(rows.graph, {}).update(dict.fromkeys((f"{op}:0" for op in ops), rows))


def moved_away(op: str, rows: tf.Tensor) -> tf.Operation:
    """Build an op that raises when a gather is fetched that cannot read the table; the message says what to fetch."""
    text = (
        f"`{op}` reads a variable that has become a table, and cannot be fetched: fetch `{rows.name}`, or give the "
        "looked-up rows a name by tf.identity"
    )
    _rows.setdefault(rows.graph, {})[f"{op}:0"] = rows
    return tf.raw_ops.Assert(condition=tf.constant(False), data=[text])
