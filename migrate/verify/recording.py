"""A recording: what one side has measured of a run, in one form for every framework. Pure numpy.

Each side writes one in its own process, which hands it on as a file (`workers`); `comparer` compares two of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
    follows: bool = False  #: whether each step begins with the converted program's weights and has its gradients
    noise: Mapping[str, float] = field(default_factory=dict)  #: the largest of all moments
    padding: Mapping[str, int] = field(default_factory=dict)  #: rows that are not compared
    optimizers: Mapping[str, Any] = field(default_factory=dict)  #: class names; of tables (title, classes alike)
    tables: Mapping[str, Any] = field(default_factory=dict)  #: the original's variable -> the table in its place
    in_graph: frozenset[str] = frozenset()  #: tables of which no tensor has the whole gradient
    held: Mapping[str, Any] = field(default_factory=dict)  #: what tables hold at the end
    freed: Sequence[str] = ()  #: weights whose ids gave up their buckets
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
