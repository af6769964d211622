"""The rows of one table that lie on a device, in a v1 graph.

A lookup asks the host for the *places* of its ids (`RecLookupPlaces`), which also says which rows come and which leave.
Those that leave are gathered on the device and written to the host; then those that come are read on the host and
scattered on the device; then the lookup gathers. Each of these is done for every *column*: the values, and the slots,
which are only known once an optimizer is given the table. So columns and lookups may be added in any order: whichever
comes later brings the ops for both.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import tensorflow as tf

from runtime import _tf_private, native
from runtime.storage.tiers import Device
from runtime.table import control_dependencies
from runtime.table.on_device.columns import Column, begun_once, gathered, new_variable, scattered
from runtime.table.on_device.rules import REPLACING, RULES


class Owner(Protocol):
    """What is needed of the table."""

    graph: Any
    graph_name: str
    variable: Any
    filled: Any
    reads_each_step: bool

    @property
    def table_name(self) -> str:
        """The table's name."""

    @property
    def dim(self) -> int:
        """Values per row."""

    @property
    def handle(self) -> tf.Tensor:
        """By which ops find the native table."""


@dataclass(frozen=True)
class _Lookup:
    """A lookup: the op that knows its ids, and the one after which rows may change or move."""

    first: tf.Operation
    last: tf.Operation


@dataclass(frozen=True)
class _Update:
    """An update: the op that finds its rows, and the one before which no row is written."""

    first: tf.Operation
    ready: tf.Operation


@dataclass(frozen=True)
class _Arrival:
    """What moves for a lookup, and the ops after which all that leaves has left, and all that comes is there."""

    in_keys: tf.Tensor
    in_places: tf.Tensor
    out_keys: tf.Tensor
    out_places: tf.Tensor
    left: tf.Operation
    came: tf.Operation


@dataclass(frozen=True)
class _Copy:
    """A copy of all rows that were changed on the device to the host, and the op after which it is done."""

    keys: tf.Tensor
    places: tf.Tensor
    done: tf.Operation


class DeviceRows:
    """The variables of a table on its device, and the ops that use them."""

    def __init__(self, table: Owner, device: Device, rows: int) -> None:
        """Create the variable of the values in the current graph; the table's handle is there."""
        self._table, self._device, self._rows = table, device, rows
        self._columns: list[Column] = []
        self._arrivals: list[_Arrival] = []
        self._copies: list[_Copy] = []
        self._lookups: list[_Lookup] = []
        self._updates: list[_Update] = []
        self._rule: dict[str, Any] | None = None
        self._slot_set = 0  # of the optimizer that has slots there
        self._add(0, "on_device", 0.0, {})
        with tf.control_dependencies(None), tf.name_scope(f"{table.graph_name}/"):
            #: Copies all rows that were changed to the host. It is there for hooks, which may add no ops.
            self.copied: tf.Operation = self._new_copy().done

    # Lookups.

    def trained(
        self, keys: tf.Tensor, admitted: tf.Tensor | None = None, elsewhere: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Return rows [*keys.shape, dim] on the device, and their places.

        Where `admitted` is False, the place is -1, and the row is that of `elsewhere`, or zeros.
        """
        self.require_outermost()
        table = self._table
        mask = tf.zeros([0], tf.bool) if admitted is None else admitted
        with tf.device("/device:CPU:0"):
            places, *moves, ticket = native.ops().rec_lookup_places(table.handle, table.variable.tensor(), keys, mask)
        arrival = self._arrival(moves, ticket, places.op)
        with tf.control_dependencies([arrival.came]):
            otherwise = tf.zeros([], tf.float32) if elsewhere is None else elsewhere
            rows = self._at(places, None if admitted is None else otherwise)
        self._looked_up(places.op, rows.op)
        return rows, places

    def read(self, keys: tf.Tensor, elsewhere: tf.Tensor) -> tf.Tensor:
        """Return rows [*keys.shape, dim] on the device: those that lie there, else those of `elsewhere`."""
        self.require_outermost()
        with tf.device("/device:CPU:0"):
            places = native.ops().rec_find_places(self._table.handle, keys)
        rows = self._at(places, elsewhere)
        self._looked_up(places.op, rows.op)
        return rows

    def _at(self, places: tf.Tensor, otherwise: tf.Tensor | None) -> tf.Tensor:
        """Return the rows at places, or `otherwise` where they are below 0."""
        values = self._columns[0].variable
        if otherwise is None:
            return gathered(values, places)
        with tf.device("/device:CPU:0"):
            there, known = places >= 0, tf.maximum(places, tf.zeros([], tf.int64))
        rows = gathered(values, known)
        with tf.device(values.device):
            return tf.where(there[..., tf.newaxis], rows, otherwise)

    def _arrival(self, moves: Sequence[tf.Tensor], ticket: tf.Tensor, first: tf.Operation) -> _Arrival:
        earlier = [lookup for lookup in self._lookups if lookup.first.type == "RecLookupPlaces"]
        # What an earlier lookup of the step brings must be there before this one finds it, or lets it leave.
        control_dependencies.admission_added(first, [lookup.first for lookup in earlier])
        self._wait_for_ends(first, earlier, first)
        with tf.device("/device:CPU:0"):
            left = native.ops().rec_rows_left(self._table.handle, ticket)
            with tf.control_dependencies([left]):
                came = native.ops().rec_rows_came(self._table.handle, ticket)
        in_keys, in_places, out_keys, out_places = moves
        arrival = _Arrival(in_keys, in_places, out_keys, out_places, left, came)
        self._arrivals.append(arrival)
        for column in self._columns:
            self._move(arrival, column)
        return arrival

    def _move(self, arrival: _Arrival, column: Column) -> None:
        """Let the rows of an arrival move in one column, before its ends."""
        table = self._table
        with tf.control_dependencies(None), tf.name_scope(f"{table.graph_name}/arrival/"):
            gone = column.to_host(table.handle, arrival.out_keys, arrival.out_places)
            _tf_private.add_control_inputs(arrival.left, [gone])
            rows = column.from_host(table.handle, table.variable.tensor(), arrival.in_keys)
            with tf.control_dependencies([arrival.left]):
                come = scattered(column.variable, arrival.in_places, rows)
            _tf_private.add_control_inputs(arrival.came, [come])

    def _looked_up(self, first: tf.Operation, last: tf.Operation) -> None:
        lookup = _Lookup(first, last)
        self._lookups.append(lookup)
        firsts = [update.first for update in self._updates]
        control_dependencies.lookup_added(first, firsts, self._table.reads_each_step)
        for update in self._updates:
            self._wait_for_ends(update.first, [lookup], update.ready)
            self._one_after_the_other(update.first)

    def _one_after_the_other(self, update: tf.Operation) -> None:
        """Let the training lookups of an update's step move rows one after the other, also those with other data."""
        before = set(update.control_inputs)
        own = [one for one in self._lookups if one.first in before and one.first.type == "RecLookupPlaces"]
        for earlier, later in itertools.pairwise(own):
            if earlier.last not in later.first.control_inputs:
                _tf_private.add_control_inputs(later.first, [earlier.last])

    @staticmethod
    def _wait_for_ends(op: tf.Operation, lookups: Sequence[_Lookup], waiting: tf.Operation) -> None:
        """Where an op waits for the first ops of some lookups, let another wait for their last ones."""
        before, known = set(op.control_inputs), set(waiting.control_inputs)
        ends = [lookup.last for lookup in lookups if lookup.first in before and lookup.last not in known]
        _tf_private.add_control_inputs(waiting, ends)

    # Updates.

    def updated(
        self,
        keys: tf.Tensor,
        gradients: tf.Tensor,
        hyper: Sequence[Any],
        optimizer: str,
        starts: Sequence[float] = (),
        on_nonfinite: str = "error",
        on_host: Callable[[tf.Tensor, tf.Tensor], tf.Operation] | None = None,
        slot_set: int = 0,
    ) -> tf.Operation:
        """Update the rows of keys [n] by gradients [n, dim], of which those of equal keys are summed.

        `on_host` returns the op that updates rows that do not lie on the device, after the lookups of the step; without
        it they are an error.

        Raises:
            ValueError: the rule has no form for a device, or another optimizer has slots there.
        """
        if optimizer not in RULES:
            raise ValueError(
                f"the table `{self._table.table_name}` has rows on a device, where the rule {optimizer!r} has no form: "
                f"train it by one of {sorted(RULES)} (Adam: lazy_adam), or let its rows lie in memory"
            )
        self.require_outermost()
        rule = {"optimizer": optimizer, "starts": list(starts), "on_nonfinite": on_nonfinite}
        columns = self._slots(rule, slot_set)
        with tf.device("/device:CPU:0"):
            numbers, places, rest = native.ops().rec_apply_places(
                self._table.handle,
                keys,
                tf.stack([tf.cast(one, tf.float32) for one in hyper]),
                partial=on_host is not None,
                **rule,
            )
            count = tf.shape(places)[0]
            ready = tf.no_op("looked_up")
        # The rows are found while the model computes; they are written once the lookups have read.
        self._order_update(_Update(numbers.op, ready))
        values = self._columns[0].variable
        with tf.device(values.device):
            summed = tf.math.unsorted_segment_sum(gradients, numbers, count)
            summed, finite = self._sound(summed, on_nonfinite)
            with tf.control_dependencies([ready]):
                slots = [gathered(column.variable, places) for column in columns]
            scalars = [np.float32(one) if isinstance(one, (int, float)) else tf.cast(one, tf.float32) for one in hyper]
            read = functools.partial(self._read, ready, places)
            change, after = RULES[optimizer](scalars, read, slots, summed)
            write = tf.raw_ops.ResourceScatterUpdate if optimizer in REPLACING else tf.raw_ops.ResourceScatterSub
            if finite is not None:
                change = tf.where(finite, change, read() if optimizer in REPLACING else tf.zeros_like(change))
                after = [tf.where(finite, new, old) for new, old in zip(after, slots, strict=True)]
            others = None if on_host is None else tf.gather(gradients, rest)
        with tf.control_dependencies([ready]):
            with tf.device(values.device):
                changed = [write(resource=values.handle, indices=places, updates=change)]
            changed += [scattered(column.variable, places, new) for column, new in zip(columns, after, strict=True)]
            with tf.device("/device:CPU:0"):
                if on_host is not None:
                    changed.append(on_host(tf.gather(keys, rest), others))
                return tf.group(*changed)

    def _read(self, ready: tf.Operation, places: tf.Tensor) -> tf.Tensor:
        with tf.control_dependencies([ready]):
            return gathered(self._columns[0].variable, places)

    def _sound(self, summed: tf.Tensor, on_nonfinite: str) -> tuple[tf.Tensor, tf.Tensor | None]:
        """Return the sums, checked, or which of them [n, 1] are finite."""
        if on_nonfinite == "skip":
            return summed, tf.reduce_all(tf.math.is_finite(summed), axis=1, keepdims=True)
        message = (
            f"a gradient for the table `{self._table.table_name}` has a NaN or an infinity, and no row was changed: "
            "clip or correct the gradients, or create the optimizer with nonfinite='skip'"
        )
        return tf.debugging.check_numerics(summed, message), None

    def _order_update(self, update: _Update) -> None:
        control_dependencies.updates_added([(update.first, [lookup.first for lookup in self._lookups])])
        self._wait_for_ends(update.first, self._lookups, update.ready)
        self._one_after_the_other(update.first)
        self._updates.append(update)

    def _slots(self, rule: dict[str, Any], slot_set: int) -> list[Column]:
        """Return the columns of the slots of a rule, which are created for the first update.

        Raises:
            ValueError: another rule updates the table.
        """
        if self._rule is None:
            self._rule, self._slot_set = rule, slot_set
            for number, start in enumerate(rule["starts"], 1):
                self._add(number, f"on_device_slot{number}", start, rule)
        elif (self._rule, self._slot_set) != (rule, slot_set):
            raise ValueError(
                f"the table `{self._table.table_name}` has rows on a device and two optimizers: train it by one"
            )
        return self._columns[1:]

    def _add(self, number: int, name: str, start: float, rule: dict[str, Any]) -> None:
        """Create a column, and let it take part in all arrivals and copies so far."""
        table = self._table
        with tf.control_dependencies(None), tf.name_scope(f"{table.graph_name}/"):
            variable = new_variable(name, (self._rows, table.dim), start, self._device.name)
            # The init op empties a table, and its places with it, but leaves the rows of one that counts its keys.
            begun = begun_once(variable) if table.reads_each_step else variable.initializer
        # The init op and restores run this: the variable begins with the table.
        _tf_private.add_control_inputs(table.filled.initializer, [begun])
        column = Column(number, variable, rule)
        self._columns.append(column)
        for arrival in self._arrivals:
            self._move(arrival, column)
        for copy in self._copies:
            self._copy(copy, column)

    # Copies to the host.

    @contextlib.contextmanager
    def on_host(self) -> Iterator[None]:
        """Run ops built inside after all rows that were changed on the device were copied to the host."""
        self.require_outermost()
        with tf.control_dependencies([self._new_copy().done]):
            yield

    def _new_copy(self) -> _Copy:
        with tf.device("/device:CPU:0"):
            keys, places = native.ops().rec_changed_places(self._table.handle)
            copy = _Copy(keys, places, tf.no_op("copied_to_host"))
        self._copies.append(copy)
        for column in self._columns:
            self._copy(copy, column)
        return copy

    def _copy(self, copy: _Copy, column: Column) -> None:
        with tf.control_dependencies(None), tf.name_scope(f"{self._table.graph_name}/copy/"):
            done = column.to_host(self._table.handle, copy.keys, copy.places)
        _tf_private.add_control_inputs(copy.done, [done])

    def require_outermost(self) -> None:
        """Check that the current graph is the table's, and not one of a function, branch or loop.

        Raises:
            ValueError: it is not.
        """
        with tf.device("/device:CPU:0"):
            here = tf.no_op("here")
        if here.graph is not self._table.graph or _tf_private.in_control_flow(here):
            raise ValueError(
                f"the table `{self._table.table_name}` has rows on a device: use it outside of functions, branches and "
                "loops of the graph, or leave `device` out"
            )
