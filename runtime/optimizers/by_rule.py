"""Updates by the name of a native rule, for who has its numbers at hand: a rewriter that found them in a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime.optimizers._base import TableOptimizer, record_updates
from runtime.table.table import Table

__all__ = ["record_updates", "update_by_rule"]


def update_by_rule(
    table: Table, gradient: tf.IndexedSlices, rule: str, hyper: Sequence[Any], starts: Sequence[float]
) -> tf.Operation:
    """Return the op that updates the rows of `gradient.indices` [n] by `gradient.values` [n, dim], duplicates summed.

    `hyper` are the rule's numbers in its order, floats or float32 scalar tensors; `starts` what its slots start with.
    The update waits for no lookup yet: give `record_updates` those of all tables at once, which walks the graph once.

    Raises:
        ValueError: a dense gradient.
    """
    return _ByRule(rule, tuple(starts), list(hyper)).update_of(table, gradient)


class _ByRule(TableOptimizer):
    """A table optimizer whose rule, numbers and starts are given."""

    def __init__(self, rule: str, starts: tuple[float, ...], hyper: list[Any]) -> None:
        super().__init__(0.0, False, rule)
        self.rule, self.starts, self._numbers = rule, starts, hyper

    def update_of(self, table: Table, gradient: tf.IndexedSlices) -> tf.Operation:
        with tf.device("/device:CPU:0"):
            return self._update_table(table, self._slices(gradient, table), None)  # the rate is among the numbers

    def _hyper(self, rate: Any) -> list[Any]:
        return self._numbers
