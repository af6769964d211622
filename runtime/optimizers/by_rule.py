"""Updates by the name of a native rule, for the graph rewriter, which finds rules and hyperparameters in a graph."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import tensorflow as tf

from runtime.optimizers._base import TableOptimizer, record_updates
from runtime.table.clusters.served import sent_gradients
from runtime.table.table import Table

__all__ = ["record_updates", "update_by_rule", "updates_by_rule"]


def update_by_rule(
    table: Table,
    gradient: tf.IndexedSlices,
    rule: str,
    hyper: Sequence[Any],
    starts: Sequence[float],
    whole: tuple[Any, Any] | None = None,
    owner: Hashable = None,
    takes_nonfinite: bool = False,
) -> tf.Operation:
    """Return the op that updates the rows of `gradient.indices` [n] by `gradient.values` [n, dim], duplicates summed.

    `hyper` are the rule's hyperparameters in its order, floats or float32 scalar tensors; `starts` the initial values
    of its slots. With `whole`, two such scalars l2 and l1, all rows take the step, each with l2 times its value plus l1
    times its sign as a gradient of its own; rows outside of the batch do so when they are read. Updates of one `owner`
    share their slots, those of another have their own, which in an eager table start anew. A gradient that is not
    finite is an error, unless the update `takes_nonfinite` ones, as that of a variable does.

    The update does not wait for lookups: call `record_updates` once with the updates of all tables, since it walks the
    graph.

    Raises:
        ValueError: the gradient is dense.
    """
    ((op, _),) = updates_by_rule(table, gradient, rule, hyper, starts, whole, owner, takes_nonfinite)
    return op


def updates_by_rule(
    table: Table,
    gradient: tf.IndexedSlices,
    rule: str,
    hyper: Sequence[Any],
    starts: Sequence[float],
    whole: tuple[Any, Any] | None = None,
    owner: Hashable = None,
    takes_nonfinite: bool = False,
) -> list[tuple[tf.Operation, Table]]:
    """Return what `update_by_rule` does for a table that may lie on servers: an op for each of its parts there."""
    by_rule = _ByRule(rule, tuple(starts), [*hyper, *(whole or ())], owner)
    by_rule._nonfinite = "take" if takes_nonfinite else "error"
    return [(by_rule.update_of(part, own), part) for part, own in sent_gradients(table, gradient)]


class _ByRule(TableOptimizer):
    """A table optimizer with given rule, hyperparameters and initial slots."""

    def __init__(self, rule: str, starts: tuple[float, ...], hyper: list[Any], owner: Hashable) -> None:
        super().__init__(0.0, False, rule)
        self.rule, self.starts, self._numbers, self.trainer = rule, starts, hyper, owner

    def update_of(self, table: Table, gradient: tf.IndexedSlices) -> tf.Operation:
        table.check_rule(self.rule)
        with tf.device("/device:CPU:0"):
            return self._update_table(table, self._slices(gradient, table), None)  # the rate is a hyperparameter here

    def _hyper(self, rate: Any) -> list[Any]:
        return self._numbers

    def _slot_set(self, table: Table) -> int:
        return 0 if self.trainer is None else table.slot_sets.number_of(self.trainer)
