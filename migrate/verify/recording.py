"""A recording: what one side has measured of a run, in one form for every framework. Pure numpy.

Each side writes one in its own process, which hands it on as a file (`workers`); `comparer` compares two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison, Memory, Series
from migrate.verify.distributions import Distribution

Array = NDArray[Any]

STAGE = "optimizer"  #: of steps of the program's own optimizers, in the report
#: Arrays of more rows are handed on as the rows that differ: a step changes few rows of a large embedding.
_MANY = 10_000


@dataclass
class Moment:
    """A pass over a batch, from the weights of the recording; or a training step."""

    losses: Sequence[Any] = ()  #: of the pass, or before the step
    #: stage -> name -> a tensor, or those that are numbered in the report
    outputs: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    gradients: Mapping[str, Any] = field(default_factory=dict)  #: by variable: an array, (rows, values), or None
    values: Mapping[str, Any] = field(default_factory=dict)  #: variables, slots and rows after the step, or as `packed`
    #: how far gradients and running values of the original move when its weights do by their last place
    noise: Mapping[str, float] = field(default_factory=dict)
    notes: Mapping[str, str] = field(default_factory=dict)  #: what is wrong with a variable's values
    #: of ids that gave up buckets, by weight: the buckets that several share, one for each id, and the rows of these
    shared: Mapping[str, tuple[Array, Array]] = field(default_factory=dict)
    inputs: Sequence[tuple[str, Array]] = ()  #: what the first layer on each tape is given, in words, and its values


@dataclass
class Recording:
    """What one program computes: its initial values, passes and training steps."""

    initial: Mapping[str, Array]  #: the values that the program itself begins with
    passes: list[Moment] = field(default_factory=list)
    steps: dict[str, list[Moment]] = field(default_factory=dict)  #: stage of the report -> its steps
    weights: Mapping[str, Array] = field(default_factory=dict)  #: where passes and steps begin
    #: of drawn initial values; None for others
    distributions: Mapping[str, Distribution | None] = field(default_factory=dict)
    losses: Sequence[str] = ("loss",)  #: their names in the report
    varied: bool = False  #: whether weights are such that outputs and losses of all batches cannot be the same
    #: whether each step begins with the weights of the other program; Paddle's original has its gradients, too
    follows: bool = False
    noise: Mapping[str, float] = field(default_factory=dict)  #: the largest of all moments
    padding: Mapping[str, int] = field(default_factory=dict)  #: rows that are not compared
    optimizers: Mapping[str, Any] = field(default_factory=dict)  #: class names; of tables (title, classes alike)
    tables: Mapping[str, Any] = field(default_factory=dict)  #: the original's variable -> the table in its place
    in_graph: frozenset[str] = frozenset()  #: tables of which no tensor has the whole gradient
    held: Mapping[str, Any] = field(default_factory=dict)  #: what tables hold at the end
    freed: Sequence[str] = ()  #: weights whose ids gave up their buckets
    #: the number that each variable begins with that is not trained, such as a slot; NaN: several numbers
    untrained: Mapping[str, float] = field(default_factory=dict)
    apart: Mapping[str, str] = field(default_factory=dict)  #: stage -> why its weights differ by intention


def packed(value: Array, before: Array | None = None) -> Any:
    """Return an array, or of one with many rows those that differ from `before` (0): their numbers and values."""
    if not value.ndim or len(value) < _MANY:
        return value
    changed = value != (0 if before is None else before)
    rows = np.flatnonzero(changed.reshape(len(value), -1).any(axis=1))
    return rows, value[rows]


def unpacked(value: Any, before: Array) -> Array:
    """Return the array that `packed` was given."""
    if not isinstance(value, tuple):
        return np.asarray(value)
    whole = before.astype(value[1].dtype)
    whole[value[0]] = value[1]
    return whole


def after_steps(name: str, start: Array | None, steps: Sequence[Moment]) -> Iterator[Array | None]:
    """Yield the values of a variable after each step; None where they were not recorded."""
    last = start
    for step in steps:
        value = step.values.get(name)
        if value is None:
            yield None
        else:
            last = unpacked(value, np.zeros(0) if last is None else last)
            yield last


@dataclass(frozen=True)
class Held:
    """What the converted program's table holds after the last step."""

    rows: int
    slots: int  #: optimizer slots of each row
    bytes: int  #: as `runtime.status()` counts them


def by_step(comparison: Comparison, original: Array, converted: Array, reference: Array | None = None) -> Comparison:
    """Return the comparison of a loss [steps] with the losses; unchanged where a step has several numbers.

    `reference` are those of the original in float64; None, or the original's own, where there is no float64 run.
    """
    sides = [np.asarray(side, np.float64) for side in (original, converted)]
    if sides[0].ndim != 1 or sides[0].shape != sides[1].shape:
        return comparison
    judge = np.asarray(sides[0] if reference is None else reference, np.float64)
    known = judge.shape == sides[0].shape and not np.array_equal(judge, sides[0], equal_nan=True)
    losses = [tuple(side.tolist()) for side in sides]
    series = Series(comparison.name, losses[0], losses[1], tuple(judge.tolist()) if known else ())
    return replace(comparison, series=(series,))


def held_in(widths: Mapping[str, tuple[int, int]]) -> dict[str, Held]:
    """Return what the live tables of this process hold, given the dim and the floats of all slots of a row of each."""
    import runtime  # only in the process of the converted program

    live = {one.name: one for one in runtime.status().tables}
    return {
        name: Held(live[name].rows, slots // dim if dim else 0, live[name].bytes)
        for name, (dim, slots) in widths.items()
        if name in live
    }


def held_by(weights: Mapping[str, Any], session: Any) -> dict[str, Held]:
    """Return what the tables among the weights of a `runtime.nn` model hold, by the weights' paths."""
    tables = {name: weight.table for name, weight in weights.items() if weight.is_table}
    slots = {name: session.run(table.snapshot()[2]).shape[1] for name, table in tables.items()}
    held = held_in({table.table_name: (table.dim, slots[name]) for name, table in tables.items()})
    return {name: held[table.table_name] for name, table in tables.items() if table.table_name in held}


def memory_of(table: str, held_: Held | None, values: Sequence[Array], slots: Sequence[Array] | None) -> list[Memory]:
    """Return what a table takes beside its variable, whose parts may lie side by side in `values`.

    There is nothing to tell where the table does not hold just the variable's rows. The slots are the optimizer's
    variables for it; None where they are not known, but are those of the table.
    """
    if held_ is None or any(len(value) != held_.rows for value in values):
        return []
    size = sum(value.nbytes for value in values)
    before = size + (size * held_.slots if slots is None else sum(slot.nbytes for slot in slots))
    return [Memory(table, held_.rows, held_.slots, before, held_.bytes)]
