"""Exchanges all tables of a lookup at once: ids in one message to each rank, rows in one back, gradients likewise.

Each message costs its latency, however short it is, and a model has dozens of tables. So what a rank sends to another
one for all tables is one message: how many ids it has of each table, then these ids, table by table. The answer is the
rows in the same order, as floats one behind the other, since tables have different widths (store/partition.h).

If bags of ids are summed, the asking rank decides for each table and rank whether to receive rows or sums, whichever is
shorter, and says so in the ids. Which rank looks up which ids does not depend on it.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf

from runtime._assertions import checked
from runtime.ranks import control_flow, placements
from runtime.ranks.agreement import Agreement
from runtime.ranks.engine import IDS, Engine
from runtime.ranks.messages import Asked, Bags, Inbox
from runtime.ranks.posted import ExchangedIds, Posted, packed, unpacked
from runtime.ranks.process_group import current

#: Returns the rows [n, dim] of the keys [n] of each request that this process holds.
Together = Callable[[list[tf.Tensor]], list[tf.Tensor]]
#: What the upper one of two numbers of 32 bits is multiplied by to send both as one of 64.
_UPPER_HALF = 1 << 32
#: An odd number whose bits have no pattern; `_weights` draws the weights of a checksum from its multiples.
_MIXING = 0x4F1BBCDCBFA53E0B
_OTHERS = (
    "`exchanged` of a lookup is for other ids or tables: give what exchange_ids returned for these ids and this table"
)


@dataclass(frozen=True)
class Request:
    """The ids to look up in one table.

    Attributes:
        keys: int32 or int64, of any shape.
        placement: placement of the table's rows on ranks.
        local: returns the rows [n, dim] of keys [n] that this process holds; None if all are looked up together.
        counted: the holder looks each key up as often as it occurs here; it is sent once, with a number.
        dim: width of the rows, float32. If any is missing, one more message exchanges the widths.
        name: name of the table, the same on all ranks; "" if it may differ.
        averages: divide the gradients of the rows by the number of ranks.
        bags: if given, keys are [n], and the sums of the rows of each bag are returned instead of rows.
        handles: of the tables with the rows; their optimizers must be the same on all ranks.
    """

    keys: tf.Tensor
    placement: str
    local: Callable[[tf.Tensor], tf.Tensor] | None
    counted: bool = False
    dim: int | None = None
    name: str = ""
    averages: bool = False
    bags: Bags | None = None
    handles: Sequence[tf.Tensor] = ()


def rows_of_all(
    requests: Sequence[Request], together: Together | None = None, exchanged: ExchangedIds | None = None
) -> list[tf.Tensor]:
    """Return the rows of each request, [*keys.shape, dim], or the sums [bags, dim] for each bag.

    Every rank must make the same requests in the same order. Gradients take the reverse path: the update of a row gets
    the sum over ranks and occurrences, divided by the number of ranks if a request `averages`. If ranks request
    different tables (by name, width or placement), or have trained them by different optimizers, the lookup fails on
    all ranks with InvalidArgumentError.

    Args:
        requests: a table may occur several times.
        together: looks up the keys of all requests at once, instead of each request's `local`.
        exchanged: what `post` returned for the same requests, if their ids are exchanged already.
    """
    engine = current()
    if engine.size == 1:
        if exchanged is not None:
            require_exchanged(requests, exchanged)
        rows = _looked_up(requests, [request.keys for request in requests], together)
        return [_summed(request, own) for request, own in zip(requests, rows, strict=True)]
    with tf.device("/device:CPU:0"):
        posted = _posted(engine, requests) if exchanged is None else _taken(requests, exchanged)
        groups = [
            (numbers, strategy(engine, group, len(numbers)))
            for (numbers, strategy), group in zip(_grouped(requests), posted, strict=True)
        ]
        arrived: list[Any] = [None] * len(requests)
        for numbers, strategy in groups:
            for i, keys in zip(numbers, strategy.arrived, strict=True):
                arrived[i] = tf.cast(keys, requests[i].keys.dtype)
        local = [
            _averaged(rows, engine.size) if request.averages else rows
            for request, rows in zip(requests, _looked_up(requests, arrived, together), strict=True)
        ]
        rows = [None] * len(requests)
        for numbers, strategy in groups:
            for i, own in zip(numbers, strategy.answered([local[i] for i in numbers]), strict=True):
                rows[i] = shaped(requests[i], own, local[i].shape[1])
        return control_flow.require_own_gradient([request.name for request in requests], rows)


def _summed(request: Request, rows: tf.Tensor) -> tf.Tensor:
    if request.bags is None:
        return rows
    with tf.device(rows.device):
        return tf.math.unsorted_segment_sum(rows, request.bags.numbers, request.bags.count)


def _looked_up(requests: Sequence[Request], keys: list[tf.Tensor], together: Together | None) -> list[tf.Tensor]:
    if together is not None:
        return together(keys)
    return [request.local(own) for request, own in zip(requests, keys, strict=True) if request.local is not None]


def _averaged(rows: tf.Tensor, ranks: int) -> tf.Tensor:
    """Return `rows`, with gradients divided by the number of ranks."""

    @tf.custom_gradient  # type: ignore[untyped-decorator]
    def same(rows: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
        return tf.identity(rows), lambda gradient: gradient / ranks

    result: tf.Tensor = same(rows)
    return result


def post(requests: Sequence[Request]) -> ExchangedIds:
    """Exchange the ids of requests of known widths ahead of `rows_of_all`; one process has nothing to exchange.

    Exchanges run beside those of rows. As `rows_of_all` does, it fails where ranks make other requests.
    """
    engine = current()
    with tf.device("/device:CPU:0"):
        mark = _fingerprint(requests)
        if engine.size == 1:
            return packed([], mark)
        with engine.beside(IDS):
            return packed(_posted(engine, requests), mark)


def _fingerprint(requests: Sequence[Request]) -> tf.Tensor:
    """Return a number that, but for rare chances, differs for other tables, and for other ids or bags in order."""
    texts = [(request.name, request.placement, request.dim, request.bags is None) for request in requests]
    bags = [part for request in requests if request.bags for part in (request.bags.numbers, request.bags.count)]
    parts = [request.keys for request in requests] + bags
    flat = [tf.reshape(tf.cast(part, tf.int64), [-1]) for part in parts]
    every = tf.concat([tf.stack([tf.size(part, tf.int64) for part in flat]), *flat], 0)
    total = tf.reduce_sum(every * _weights(tf.size(every, tf.int64)))
    return tf.bitwise.bitwise_xor(total, tf.bitwise.right_shift(total, 32)) * _UPPER_HALF + zlib.crc32(
        repr(texts).encode()
    )


def _weights(count: tf.Tensor) -> tf.Tensor:
    """Return an odd number for each place; they follow no rule by which sums of other orders could be equal."""
    numbers = tf.range(1, count + 1) * _MIXING
    return tf.bitwise.bitwise_or(tf.bitwise.bitwise_xor(numbers, tf.bitwise.right_shift(numbers, 29)) * _MIXING, 1)


def require_exchanged(requests: Sequence[Request], exchanged: ExchangedIds) -> list[tf.Operation]:
    """Return ops that fail if other ids were exchanged than are requested; in eager mode, fail at once.

    Raises:
        TypeError: it is not what was exchanged.
    """
    if not isinstance(exchanged, ExchangedIds):
        raise TypeError(
            f"`exchanged` is {type(exchanged).__name__}: give what exchange_ids, exchange_sparse_ids or "
            "exchange_safe_sparse_ids returned"
        )
    op = checked(tf.equal(exchanged.mark, _fingerprint(requests)), _OTHERS, exchanged.mark)
    return [] if tf.executing_eagerly() else [op]


def _taken(requests: Sequence[Request], exchanged: ExchangedIds) -> list[Posted]:
    """Return what was exchanged for requests, and check that it was."""
    with tf.control_dependencies(require_exchanged(requests, exchanged)):
        taken = ExchangedIds(*map(tf.identity, exchanged))
    return unpacked(taken, [(len(numbers), strategy is _SentToOwners) for numbers, strategy in _grouped(requests)])


def _posted(engine: Engine, requests: Sequence[Request]) -> list[Posted]:
    same = Agreement(engine, requests)
    return [strategy.post(engine, [requests[i] for i in numbers], same) for numbers, strategy in _grouped(requests)]


def _grouped(requests: Sequence[Request]) -> list[tuple[list[int], type[_Strategy]]]:
    """Return the numbers of the requests by how they are exchanged: tables whose rows have one owner, and copies."""
    divided = [i for i, request in enumerate(requests) if request.placement != placements.REPLICATED]
    copied = [i for i, request in enumerate(requests) if request.placement == placements.REPLICATED]
    groups: list[tuple[list[int], type[_Strategy]]] = [(divided, _SentToOwners), (copied, _SentToAll)]
    return [(numbers, strategy) for numbers, strategy in groups if numbers]


def handles_of(tables: Iterable[Any]) -> list[tf.Tensor]:
    """Return the handles for a request; empty with a single rank, where there is nothing to compare."""
    return [table.handle for table in tables] if current().size > 1 else []


def shaped(request: Request, rows: tf.Tensor, dim: int) -> tf.Tensor:
    """Return rows [n, dim] of a request in the shape of its keys, or its sums."""
    if request.bags is not None:
        rows.set_shape([tf.get_static_value(request.bags.count), dim])
        return rows
    keys, shape = request.keys, request.keys.shape.concatenate([dim])
    if keys.shape.rank != 1:
        rows = tf.reshape(rows, tf.concat([tf.shape(keys), [dim]], 0))
    rows.set_shape(shape)
    return rows


class _Strategy:
    """How ids of some tables get to the ranks with their rows, and the rows back.

    Attributes:
        arrived: for each table, the keys to look up in this process, int64 [n].
    """

    arrived: list[tf.Tensor]

    def __init__(self, engine: Engine, posted: Posted, tables: int) -> None:
        """Take what `post` has brought, now or in an earlier step."""
        self._engine, self._posted = engine, posted
        self._inbox = Inbox(posted.message, posted.lengths, tables)
        self.arrived = self._inbox.keys

    @staticmethod
    def post(engine: Engine, requests: Sequence[Request], same: Agreement) -> Posted:
        """Exchange the ids."""
        raise NotImplementedError

    def answered(self, rows: list[tf.Tensor]) -> list[tf.Tensor]:
        """Return for each table the rows of this rank's ids, given the rows of `arrived`."""
        raise NotImplementedError


class _SentToOwners(_Strategy):
    """Ids are sent to the ranks that hold their rows."""

    @staticmethod
    def post(engine: Engine, requests: Sequence[Request], same: Agreement) -> Posted:
        dims = [request.dim for request in requests if request.dim is not None]
        known = len(dims) == len(requests)
        asked = _asked(requests, engine.size, dims if known else [0] * len(requests))
        columns = [asked.lengths, *(tf.fill([engine.size], one) for one in (same.mark, same.trained))]
        if known:
            columns.append(_floats(asked.counts, dims))
        (ids, marks, trained, *rows), message = engine.routed(tf.stack(columns, 1), asked.message)
        with tf.control_dependencies(same.checks(marks.received, trained.received)):
            message = tf.identity(message)
        return Posted(asked.places, message, ids.received, rows[0] if rows else None)

    def answered(self, rows: list[tf.Tensor]) -> list[tf.Tensor]:
        widths, posted = [one.shape[1] for one in rows], self._posted
        route = posted.rows or self._engine.route(_floats(posted.places.counts, widths))
        answer = self._engine.all_to_all(self._inbox.packed(rows), route.back())
        return posted.places.spread(answer, widths)


class _SentToAll(_Strategy):
    """Every rank looks up the ids of all ranks, so that all copies get the same rows and the same update."""

    @staticmethod
    def post(engine: Engine, requests: Sequence[Request], same: Agreement) -> Posted:
        asked = _asked(requests, 1, [0] * len(requests))
        mark = tf.cast(same.trained, tf.int64)[None] * _UPPER_HALF + same.mark
        every, lengths = engine.all_gather(tf.concat([mark, asked.message], 0))
        starts = tf.cumsum(lengths, exclusive=True)[:, None]
        marks = tf.gather_nd(every, starts)
        with tf.control_dependencies(same.checks(marks % _UPPER_HALF, tf.cast(marks // _UPPER_HALF, tf.int32))):
            marked = tf.scatter_nd(starts, tf.ones_like(lengths), tf.shape(every))
        return Posted(asked.places, tf.boolean_mask(every, tf.equal(marked, 0)), lengths - 1, None)

    def answered(self, rows: list[tf.Tensor]) -> list[tf.Tensor]:
        widths = [one.shape[1] for one in rows]
        engine, ends = self._engine, tf.cumsum(_floats(self._inbox.counts, widths))
        before, after = (ends[engine.rank - 1] if engine.rank else 0), ends[engine.rank]

        @tf.custom_gradient  # type: ignore[untyped-decorator]
        def own(every: tf.Tensor) -> tuple[tf.Tensor, Callable[[tf.Tensor], tf.Tensor]]:
            # Gradients of rows that other ranks use come from these ranks.
            return every[before:after], lambda gradient: engine.all_gather(tf.convert_to_tensor(gradient))[0]

        return self._posted.places.spread(own(self._inbox.packed(rows)), widths)


def _asked(requests: Sequence[Request], ranks: int, widths: Sequence[int]) -> Asked:
    return Asked(
        [tf.reshape(tf.cast(request.keys, tf.int64), [-1]) for request in requests],
        [request.bags for request in requests],
        ranks=ranks,
        owners=[placements.owner_rule(request.placement) for request in requests],
        counted=[request.counted for request in requests],
        widths=widths,
    )


def _floats(counts: tf.Tensor, widths: Sequence[int]) -> tf.Tensor:
    """Return the number of floats in the rows of each rank, int32 [ranks]."""
    return tf.linalg.matvec(counts, tf.constant(list(widths), tf.int32))
