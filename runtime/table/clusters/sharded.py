"""Tables in shards on several parameter servers, and their rows in checkpoints, which are those of one table.

A shard is a table of its own: optimizers, hooks and Savers know shards alone. In a checkpoint their rows lie side by
side as slices of the tensors that one process writes, as TensorFlow does with partitioned variables: any number of
servers, or one process, reads them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, NoReturn

import tensorflow as tf

from runtime import native
from runtime.table.clusters.anchors import Anchors
from runtime.table.clusters.servers import ROWS, Shard
from runtime.table.table import Table

_HEAD = 5  # entries of metadata before the starts of slots; the fourth is their number


class Piece(NamedTuple):
    """What a shard writes of one tensor: under which name, as which slice of the whole, and the values."""

    name: Any
    slice: Any
    values: tf.Tensor


class ShardedTable(Table):
    """A table whose rows lie on several parameter servers: key mod their number says which of its `shards` has a row.

    Lookups, `size`, `snapshot`, `import_rows`, eviction and the base are those of a table. What concerns rows in one
    place, such as their tier, is asked of each shard.
    """

    def _add_to_graph(self, anchor: Callable[[Any], Any]) -> None:
        assert self.graph is not None
        self.graph.unique_name(self.graph_name)
        below = self.graph_name.removesuffix(self.arguments.name)
        #: The tables that hold the rows.
        self.shards = [
            Table(
                replace(self.arguments, name=shard.name, servers=(shard,), in_place_of=""),
                anchor,
                below,
                self._first_rows_of(shard),
            )
            for shard in (
                replace(server, seed=self.seed, buckets=self.arguments.base_buckets)
                for server in self.arguments.servers
            )
        ]
        for shard in self.shards:
            shard.whole = self
        self._pieces: dict[Any, list[list[Piece]]] = {}
        self._anchors = Anchors(self, self.shards)

    def _first_rows_of(self, shard: Shard) -> Callable[[], tuple[tf.Tensor, tf.Tensor]] | None:
        first_rows = self.first_rows
        if first_rows is None:
            return None

        def own() -> tuple[tf.Tensor, tf.Tensor]:
            keys, values = shard.own(*first_rows())
            return keys, values

        return own

    @property
    def parts(self) -> Sequence[Table]:
        """The shards."""
        return self.shards

    @property
    def variables(self) -> list[Any]:
        """The variables of the shards, to take gradients for and to give to an optimizer."""
        return [shard.variable for shard in self.shards]

    @property
    def variable(self) -> Any:
        """Raise: each shard has its own."""
        self._refuse("variable", "take table.variables, which are those of its shards")

    @variable.setter
    def variable(self, variable: Any) -> NoReturn:
        raise AttributeError("variable")

    @property
    def anchor(self) -> Any:
        """What stands for it in a rewritten graph."""
        return self._anchors

    @property
    def handle(self) -> tf.Tensor:
        """Raise: each shard has its own."""
        self._refuse("place", "do this for each of table.shards")

    def _refuse(self, what: str, remedy: str) -> NoReturn:
        raise ValueError(
            f"the table `{self.table_name}` has no single {what}, as its rows lie on {len(self.shards)} parameter "
            f"servers: {remedy}"
        )

    def children(self) -> dict[str, Any]:
        """Return the variables of the shards by their names in a tf.train.Checkpoint."""
        return {f"part_{i}": shard.variable for i, shard in enumerate(self.shards)}

    def size(self) -> tf.Tensor:
        """Return the number of rows on all servers as an int64 scalar."""
        return tf.add_n([shard.size() for shard in self.shards])

    def import_rows(self, keys: Any, values: Any) -> tf.Operation:
        """Return an op that inserts or overwrites rows: keys int64 [n], values float32 [n, dim]; slots are kept."""
        return tf.group([shard.import_rows(keys, values) for shard in self.shards])

    def saved_rows(self, base: bool) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]:
        """Return keys, values, slots and metadata of all shards, each of one moment."""
        parts = self._rows_of_shards(base)
        meta = self._joined([part[3] for part in parts])
        slots = [_with_slots(part[2], meta, self.dim) for part in parts]
        keys, values = (tf.concat([part[i] for part in parts], 0) for i in (0, 1))
        return keys, values, tf.concat(slots, 0), meta

    def _rows_of_shards(self, base: bool) -> list[tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]]:
        """Return the snapshot of each shard; all have the rows of buckets, which the first one gives for all."""
        return [shard.saved_rows(base and shard is self.shards[0]) for shard in self.shards]

    def _joined(self, metas: Sequence[tf.Tensor]) -> tf.Tensor:
        """Return the metadata of the first shard that was trained, with what all have counted."""
        with tf.device(self.shards[0].place):
            meta: tf.Tensor = native.ops().rec_join_meta(metas, table_name=self.table_name)
            return meta

    def pieces(
        self, name: str = "", names: Sequence[str] = (), slots: Sequence[Sequence[str]] = ()
    ) -> list[list[Piece]]:
        """Return what each shard writes into a checkpoint: of the table's variable, and of its tensors as in ROWS.

        The table is called `name` there, by default as it is; see `GraphAnchor.saved` for the others.
        """
        key = (name or self.table_name, tuple(names), tuple(map(tuple, slots)))
        if key not in self._pieces:
            with tf.control_dependencies(None), tf.name_scope(f"{self.graph_name}/"), tf.name_scope("pieces"):
                self._pieces[key] = self._new_pieces(*key)
        return self._pieces[key]

    def _new_pieces(self, name: str, names: Sequence[str], slots: Sequence[Sequence[str]]) -> list[list[Piece]]:
        texts = [shard.variable.saved_anchor(name, names, slots) for shard in self.shards]
        anchors = [_alone(name, i, "", text) for i, text in enumerate(texts)]
        if not self.is_save:
            return [[anchor] for anchor in anchors]
        rows = self._rows_of_shards(base=True)
        meta = self._joined([part[3] for part in rows])
        with tf.device(self.shards[0].place):
            head = meta[: _HEAD + meta[3]]
            counts = tf.stack([tf.size(part[0], tf.int64) for part in rows])
        slices = []
        for i, (shard, (keys, values, slots, _)) in enumerate(zip(self.shards, rows, strict=True)):
            with tf.device(shard.place):
                place = (i, counts)
                slices.append(
                    [
                        anchors[i],
                        _piece(name, ROWS[0], place, keys, []),
                        _piece(name, ROWS[1], place, values, [self.dim]),
                        _piece(name, ROWS[2], place, _with_slots(slots, head, self.dim), [head[3] * self.dim]),
                        _alone(name, i, ROWS[3], meta),
                    ]
                )
        return slices


def _alone(table: str, number: int, suffix: str, values: tf.Tensor) -> Piece:
    """Return what the first shard writes for all; others write nothing under a name that nobody reads."""
    return Piece(table + suffix, "", values) if number == 0 else _nothing(table, number, suffix, values)


def _nothing(table: str, number: int, suffix: str, values: tf.Tensor) -> Piece:
    return Piece(_unread(table, number, suffix), "", tf.reshape(values, [-1])[:0])


def _unread(table: str, number: int, suffix: str) -> str:
    return f"{table}/part_{number}/no{suffix or '-variable'}"


def _piece(table: str, suffix: str, place: tuple[int, tf.Tensor], rows: tf.Tensor, width: list[Any]) -> Piece:
    """Return the slice of a tensor that a shard writes.

    TensorFlow has no slices without values. A shard that has none writes to a name that nobody reads; where no shard
    has any, the first writes the whole.
    """
    number, counts = place
    total, count = tf.reduce_sum(counts), counts[number]
    sizes = [total, *(tf.cast(one, tf.int64) for one in width)]
    empty = tf.equal(tf.reduce_prod(tf.stack(sizes)), 0)
    start = tf.reduce_sum(counts[:number])
    shape = tf.strings.reduce_join(tf.strings.as_string(tf.stack(sizes)), separator=" ")
    part = tf.strings.reduce_join(tf.strings.as_string(tf.stack([start, count])), separator=",")
    sliced = tf.strings.join([shape, " ", part, ":-" * len(width)])
    unread = _unread(table, number, suffix)
    if number == 0:
        # Of no values, the whole has the number of rows of all shards.
        rows = tf.cond(empty, lambda: tf.zeros(tf.stack(sizes), rows.dtype), lambda: rows)
        named = tf.where(empty | (count > 0), table + suffix, unread)
    else:
        named = tf.where(empty | tf.equal(count, 0), unread, table + suffix)
    return Piece(named, tf.where(empty | tf.equal(count, 0), "", sliced), rows)


def _with_slots(slots: tf.Tensor, meta: tf.Tensor, dim: int) -> tf.Tensor:
    """Return the slots of rows as the trained table of this metadata has them: rows without slots get new ones."""
    bits = tf.cast(meta[_HEAD : _HEAD + meta[3]], tf.uint32)
    starts = tf.repeat(tf.bitcast(bits, tf.float32), dim)
    new = tf.tile(starts[None, :], [tf.shape(slots)[0], 1])
    return tf.concat([slots, new[:, tf.shape(slots)[1] :]], 1)
