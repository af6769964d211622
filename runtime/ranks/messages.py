"""The native messages of a lookup over ranks, on both sides: keys to the holders, rows or sums of rows back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import tensorflow as tf

from runtime import native


@dataclass(frozen=True)
class Bags:
    """The bag of each id, [n] in groups, and the number of bags; int32 or int64."""

    numbers: tf.Tensor
    count: tf.Tensor


class Places(NamedTuple):
    """Where answers of the ranks belong.

    Attributes:
        counts: number of rows or sums to receive from each rank for each table, int32 [ranks, tables].
        bags: number of bags of each table, below 0 if it has none, int64 [tables].
        places, targets: for each table, as the op RecPartitionKeys gives them.
    """

    counts: tf.Tensor
    bags: tf.Tensor
    places: tuple[tf.Tensor, ...]
    targets: tuple[tf.Tensor, ...]

    def spread(self, answer: tf.Tensor, widths: list[int]) -> list[tf.Tensor]:
        """Return for each table the row of each id, or the sum of each bag, from the answers of the ranks."""
        rows = native.ops().rec_spread_rows(
            answer, self.counts, self.bags, list(self.places), list(self.targets), widths=widths
        )
        return list(rows)


class Asked:
    """What this rank asks of each rank.

    Attributes:
        message: keys, int64; `lengths` [ranks] of its values go to each rank, int32.
        counts: number of rows or sums to receive from each rank for each table, int32 [ranks, tables].
        places: where the answers belong.
    """

    def __init__(
        self,
        keys: Sequence[tf.Tensor],
        bags: Sequence[Bags | None],
        *,
        ranks: int,
        owners: Sequence[int],
        counted: Sequence[bool],
        widths: Sequence[int],
    ) -> None:
        """Partition the keys [n] of each table; `widths` are those of its rows, 0 if they are always sent as rows.

        Each key is sent once; of `counted` tables also how often it occurs.
        """
        none = Bags(tf.zeros([0], tf.int64), tf.constant(-1, tf.int64))
        every = [one or none for one in bags]
        self.message, self.lengths, self.counts, places, targets = native.ops().rec_partition_keys(
            [_wide(one) for one in keys],
            [_wide(one.numbers) for one in every],
            ranks=ranks,
            owners=owners,
            counted=counted,
            widths=widths,
        )
        self.counts.set_shape([ranks, len(keys)])

        self.places = Places(self.counts, tf.stack([_wide(one.count) for one in every]), tuple(places), tuple(targets))


def _wide(numbers: tf.Tensor) -> tf.Tensor:
    """Convert to int64, which native messages need; RaggedTensors may use int32."""
    return numbers if numbers.dtype == tf.int64 else tf.cast(numbers, tf.int64)


class Inbox:
    """What other ranks ask of this one.

    Attributes:
        keys: for each table, the keys from all ranks, int64 [n]; of a counted table, each occurrence.
        counts: number of rows or sums for each rank, int32 [ranks, tables].
    """

    def __init__(self, message: tf.Tensor, lengths: tf.Tensor, tables: int) -> None:
        """Parse the message; `lengths` [ranks] of its values come from each rank."""
        self._message, self._lengths = message, lengths
        self.counts, keys = native.ops().rec_unpack_keys(message, lengths, N=tables)
        self.keys = list(keys)
        for keys_of_request in self.keys:
            keys_of_request.set_shape([None])
        self.counts.set_shape([None, tables])

    def packed(self, rows: list[tf.Tensor]) -> tf.Tensor:
        """Return the answer message, given the rows of `keys`."""
        message: tf.Tensor = native.ops().rec_pack_rows(rows, self._message, self._lengths)
        return message
