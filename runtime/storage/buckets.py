"""How the ids of a table divide into the rows of its base."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from runtime import _validation
from runtime.native.base_keys import FIRST_BASE_KEY, MOST_BUCKETS

#: The first format of a table's metadata that says how ids divide, by three numbers behind the slots' starts.
DIVIDED = 6
#: What stands behind these where rows are float32, and nothing has decayed or was put off: the number of the type, that
#: of updates that rounded, the bits of the share of initial values that is left, and the number of steps to take.
WHOLE = (0, 0, int(np.float64(1).view(np.int64)), 0)


class WideBuckets(int):
    """A number of buckets as large as ids can be; a column over a table reads off which rows they begin as."""

    buckets: Buckets


@dataclass(frozen=True)
class Buckets:
    """Which row of its base an id begins as: ids below `beyond` are rows themselves, all others share `count` rows.

    The row of an id is the id itself if it is 0 or more and less than `beyond`, else `first + (id - beyond) mod count`.

    Args:
        count: number of rows that ids share.
        first: the first of these rows.
        beyond: number of rows of a vocabulary's words, and of all else that keeps its number; default: `first`.

    Raises:
        ValueError: a number has a wrong type or range, or `beyond` lies among the rows that ids share.
    """

    count: int
    first: int = 0
    beyond: int | None = None

    def __post_init__(self) -> None:
        """Check the numbers; see the class."""
        _validation.integer("count", self.count, 1, MOST_BUCKETS)
        _validation.integer("first", self.first, 0, MOST_BUCKETS - self.count)
        if self.beyond is None:
            object.__setattr__(self, "beyond", self.first)
        end = self.first + self.count
        _validation.integer("beyond", self.beyond, 0, MOST_BUCKETS)
        if self.start != self.first and self.start < end:
            raise ValueError(
                f"`beyond` is {self.beyond}, and rows {self.first} to {end - 1} belong to buckets: give "
                f"{self.first}, or {end} or more"
            )

    @property
    def start(self) -> int:
        """`beyond` as a number."""
        return self.first if self.beyond is None else self.beyond

    @property
    def rows(self) -> int:
        """Number of rows of the base."""
        return max(self.start, self.first + self.count)

    @property
    def widest(self) -> int:
        """The largest multiple of `count` to take hashes modulo of; `start` + a hash then fits 63 bits."""
        wide = WideBuckets(self.count * ((2**63 - 1 - self.start) // self.count))
        wide.buckets = self
        return wide

    @property
    def option(self) -> str:
        """The option of the native table."""
        return f"{self.count},{self.first},{self.start}" if self.first or self.start else str(self.count)

    def row_of(self, ids: Any) -> Any:
        """Return the row of the base that each id of an int64 array or tensor begins as; see the class."""
        shared = self.first + (ids % self.count - self.start % self.count) % self.count
        where = tf.where if tf.is_tensor(ids) else np.where
        return where((ids >= 0) & (ids < self.start), ids, shared) if self.start else shared

    def key_of(self, keys: Any, meta: Any) -> Any:
        """Return the keys of saved rows, those of a base if they were saved before ids gave up these buckets.

        They were if the metadata does not say how ids divide, and each key is a row. The engine reads rows in the same
        way; whoever chooses among them must do so before.

        Args:
            keys: an int64 array or tensor.
            meta: the metadata of the table that was saved.
        """
        is_row = (keys >= 0) & (keys < self.rows)
        if tf.is_tensor(keys):
            return tf.where(says_division(meta) | ~tf.reduce_all(is_row), keys, keys + FIRST_BASE_KEY)
        return keys if says_division(meta) or not is_row.all() else keys + FIRST_BASE_KEY

    def __str__(self) -> str:
        """Return the argument of `create_table`."""
        if self.option.isdigit():
            return f"base_buckets={self.count}"
        return f"base_buckets=Buckets({self.count}, {self.first}, {self.beyond})"

    @classmethod
    def of_option(cls, text: str) -> Buckets:
        """Return the buckets that an `option` stands for."""
        return cls(*map(int, text.split(",")))


def says_division(meta: Any) -> Any:
    """Return whether a table's metadata in a checkpoint says how ids divide: the table had a base, or has one."""
    return meta[0] >= DIVIDED


def untrained(meta: tf.Tensor, head: tf.Tensor) -> tf.Tensor:
    """Return metadata that begins with `head`, of format 2 and no optimizer, and says how ids divide as `meta` does."""

    def divided() -> tf.Tensor:
        at = 5 + meta[3]
        return tf.concat([[DIVIDED], head[1:], meta[at : at + 3], tf.constant(WHOLE, tf.int64)], 0)

    return tf.cond(says_division(meta), divided, lambda: head)


def buckets_of(argument: Any) -> Buckets | None:
    """Return the argument `base_buckets` as it is kept.

    Raises:
        ValueError: it is neither a number of buckets nor `Buckets`.
    """
    if argument is None or isinstance(argument, Buckets):
        return argument
    if isinstance(argument, str):  # of a layer's configuration
        return Buckets.of_option(argument)
    return Buckets(_validation.integer("base_buckets", argument, 1, MOST_BUCKETS))
