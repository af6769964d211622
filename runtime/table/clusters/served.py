"""Lookups of tables on parameter servers: one message of ids to each server, one of rows back, gradients likewise.

A worker sends each id once, however often its batch has it. The messages are those of ranks (`ranks/messages.py`), and
hold what all tables of a lookup ask of a server, or are answered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from runtime.ranks import placements
from runtime.ranks.fused_exchange import Request, rows_of_all, shaped
from runtime.ranks.messages import Asked, Inbox
from runtime.ranks.posted import ExchangedIds
from runtime.table.clusters.servers import is_at
from runtime.table.table import Table

#: Returns the rows [n, dim] of the keys [n] of tables, all of which lie in one process.
LookUp = Callable[[Sequence[Table], list[tf.Tensor]], list[tf.Tensor]]


def served_rows(
    tables: Sequence[Table], requests: Sequence[Request], look_up: LookUp, exchanged: ExchangedIds | None = None
) -> list[tf.Tensor]:
    """Return the rows of each table's request, [*keys.shape, dim], or the sums [bags, dim] for each bag.

    Ops are built on the servers, but for those that take ids apart and put rows together.

    Raises:
        ValueError: ids were exchanged ahead, which only ranks do.
    """
    if exchanged is not None:
        raise ValueError(
            f"the table `{tables[0].table_name}` lies on parameter servers, and only ranks exchange ids ahead: look up "
            "without `exchanged`"
        )

    def here(numbers: list[int]) -> list[tf.Tensor]:
        own = [tables[i] for i in numbers]
        return rows_of_all([requests[i] for i in numbers], lambda keys: look_up(own, keys))

    return rows_of_parts([table.parts for table in tables], requests, look_up, here)


def rows_of_parts(
    tables: Sequence[Sequence[Table]],
    requests: Sequence[Request],
    look_up: LookUp,
    here: Callable[[list[int]], list[tf.Tensor]],
) -> list[tf.Tensor]:
    """Return the same of tables by their parts on servers; `here` those of the requests of tables without parts.

    The placement of a request says which part has a row.
    """
    rows: list[tf.Tensor] = [None] * len(requests)
    groups: dict[tuple[str, ...], list[int]] = {}
    for i, parts in enumerate(tables):
        groups.setdefault(tuple(part.place for part in parts), []).append(i)
    for servers, numbers in groups.items():
        own, asked = [tables[i] for i in numbers], [requests[i] for i in numbers]
        rows_found = _from(servers, own, asked, look_up) if servers else here(numbers)
        for i, looked_up in zip(numbers, rows_found, strict=True):
            rows[i] = looked_up
    return rows


def _from(
    servers: Sequence[str], tables: Sequence[Sequence[Table]], requests: Sequence[Request], look_up: LookUp
) -> list[tf.Tensor]:
    count = len(requests)
    keys = [tf.reshape(tf.cast(request.keys, tf.int64), [-1]) for request in requests]
    asked = Asked(
        keys,
        [request.bags for request in requests],
        ranks=len(servers),
        owners=[placements.owner_rule(request.placement) for request in requests],
        counted=[request.counted for request in requests],
        widths=[request.dim or 0 for request in requests],
    )
    answers, widths = [], [0] * count
    for number, message in enumerate(tf.split(asked.message, asked.lengths, num=len(servers))):
        with tf.device(servers[number]):
            inbox = Inbox(message, tf.shape(message), count)
            rows = look_up([parts[number] for parts in tables], inbox.keys)
            widths = [part.shape[1] for part in rows]
            answers.append(inbox.packed(rows))
    spread = asked.places.spread(tf.concat(answers, 0), widths)
    return [shaped(request, own, width) for request, own, width in zip(requests, spread, widths, strict=True)]


def sent_gradients(table: Table, gradient: tf.IndexedSlices) -> list[tuple[Table, tf.IndexedSlices]]:
    """Return the parts of a table with what each gets of a gradient, each row once; a table without parts gets all.

    What was summed on the server already is left as it is, and so is what a table counts.
    """
    if not table.parts or table.counts_gradients or is_at(gradient.values.device, table.place):
        return [(table, gradient)]
    keys, places = tf.unique(tf.cast(gradient.indices, tf.int64))
    values = tf.math.unsorted_segment_sum(gradient.values, places, tf.size(keys))
    sent = []
    for part in table.parts:
        # A shard's gradient is that of its own rows, and of terms over all of them, which are no keys.
        own, rows = (keys, values) if part is table else part.own(keys, values)
        sent.append((part, tf.IndexedSlices(rows, own)))
    return sent
