"""Base class of the optimizers by address: they train rows at given addresses, for dynamic expansion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime import _validation, native
from runtime.optimizers._base import INCOMPATIBLE, RuleOptimizer, TableOptimizer, record_updates
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB, table_of
from runtime.table.anchor import Anchor
from runtime.table.table import Table


class AddressOptimizer(TableOptimizer):
    """Takes pairs (gradient of rows, addresses) in `apply_gradients`: see `lookup/sparse.py`."""

    def apply_gradients(
        self, grads_and_vars: Iterable[tuple[Any, Any]], global_step: Any = None, name: str | None = None
    ) -> tf.Operation:
        """Return the op that updates rows at addresses int64 [n] by gradients [n, dim]; gradients of None are skipped.

        The op fails with InvalidArgumentError if an address does not, or no longer, belong to a row.

        Raises:
            ValueError: addresses are not from a lookup, a table's anchor is given instead, shapes do not match, or
                there is no gradient at all.
        """
        listed = _validation.pairs("grads_and_vars", grads_and_vars, "pairs (gradient of rows, addresses)")
        checked = [self._checked(gradient, addresses) for gradient, addresses in listed if gradient is not None]
        if not checked:
            raise ValueError(
                f"{self.get_name()} has no gradient for any address: the loss must depend on a training lookup, and "
                f"the gradients are those of the rows in the collection {LOCAL_EMB}"
            )
        global_step = self._counted_by(global_step)
        self._prepare()
        with tf.name_scope(name or self.get_name()) as scope, tf.device("/device:CPU:0"):
            rate = self._rate(global_step)
            together = _by_table(checked)
            updates = [self._update_at(table, *_joined(pairs), rate) for table, pairs in together]
            record_updates(zip(updates, (table for table, _ in together), strict=True))
            done = self._end(updates, global_step, scope)
        self._collect(done)
        return done

    def _checked(self, gradient: Any, addresses: Any) -> tuple[Table, tf.Tensor, tf.Tensor]:
        if isinstance(addresses, Anchor):
            raise ValueError(
                f"{INCOMPATIBLE} {self.get_name()}: it takes addresses (the collection {ID_OFFSET}), "
                f"and `{addresses.table.table_name}` is a table; use the optimizer's create_hash_optimizer for it"
            )
        table = table_of(addresses)
        places = addresses
        if isinstance(gradient, tf.IndexedSlices):  # the gradient of a gather of some rows, perhaps with repetitions
            places = tf.gather(addresses, gradient.indices)
            gradient = gradient.values
        gradient = tf.convert_to_tensor(gradient, tf.float32)
        wanted = places.shape.concatenate([table.dim])
        if not gradient.shape.is_compatible_with(wanted):
            raise ValueError(
                f"the gradient {gradient.shape} does not fit the addresses {places.shape} of the table "
                f"`{table.table_name}`: it must be {wanted}, one row for each address"
            )
        return table, gradient, places

    def _update_at(self, table: Table, values: tf.Tensor, places: tf.Tensor, rate: tf.Tensor) -> tf.Operation:
        with tf.name_scope("update_" + table.table_name):
            hyper = tf.stack([tf.cast(value, tf.float32) for value in self._hyper(rate)])
            return native.ops().rec_apply_at(
                table.handle,
                places,
                values,
                hyper,
                optimizer=self.rule,
                starts=self.starts,
                on_nonfinite=self._nonfinite,
            )


class RuleAddressOptimizer(AddressOptimizer, RuleOptimizer):
    """An optimizer by address whose rule takes the learning rate, then numbers that stay the same."""


_Pair = tuple[tf.Tensor, tf.Tensor]


def _by_table(checked: list[tuple[Table, tf.Tensor, tf.Tensor]]) -> list[tuple[Table, list[_Pair]]]:
    """Group the pairs by table: the gradients of several lookups are summed per row, in one step."""
    by_table: dict[int, tuple[Table, list[_Pair]]] = {}
    for table, values, places in checked:
        by_table.setdefault(id(table), (table, []))[1].append((values, places))
    return list(by_table.values())


def _joined(pairs: list[_Pair]) -> _Pair:
    if len(pairs) == 1:
        return pairs[0]
    # Lengths that differ pair by pair may agree in total; then wrong rows would be updated.
    message = "a gradient does not have one row for each of its addresses"
    fits = [
        tf.compat.v1.assert_equal(tf.shape(values)[0], tf.size(places), message=message) for values, places in pairs
    ]
    with tf.control_dependencies(fits):
        return tf.concat([values for values, _ in pairs], 0), tf.concat([places for _, places in pairs], 0)
