"""The values in a trainer: the model, items of a batch, outputs, the loss, and values computed from these."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from migrate.source.paddle.mapping.values import Module, Value


class Model:
    """The model that is trained."""


class Parameters:
    """All of the model's parameters, as `parameters()` returns them."""


class Trainer:
    """`self` of the trainer's methods."""


class Batch:
    """A batch of the reader."""


class Metrics:
    """The result of `create_metrics` and its items, which do not affect the loss."""


MODEL, PARAMETERS, TRAINER_SELF, BATCH, METRICS = Model(), Parameters(), Trainer(), Batch(), Metrics()


@dataclass(frozen=True)
class Fed:
    """An item of a batch with unchanged values, in float32 (or integers, `whole`), possibly reshaped."""

    index: int
    width: int | None = None  #: number of columns, if a reshape gives it
    whole: bool = False


@dataclass(frozen=True)
class Feeds:
    """The items of a batch from `start` on, with the same conversions; their number is unknown."""

    start: int = 0
    width: int | None = None
    whole: bool = False

    def __getitem__(self, place: int) -> Fed:
        """Return the item at an index relative to `start`."""
        return Fed(self.start + place, self.width, self.whole)


@dataclass(frozen=True, eq=False)
class Many:
    """An unknown number of items, each like `item`."""

    item: Value


@dataclass(frozen=True)
class Output:
    """An output of the model, unchanged."""

    index: int


@dataclass(frozen=True, eq=False)
class Loss:
    """The result of `create_loss`, unchanged."""


@dataclass(frozen=True)
class LossCall:
    """A call of `create_loss`: its arguments by parameter, and their source text."""

    made: Loss
    arguments: dict[str, Value]
    spelled: dict[str, str]
    node: ast.AST


@dataclass(frozen=True, eq=False)
class Computed:
    """A computed value; `origins` are the values that it depends on, `node` the first computation."""

    origins: frozenset[Value] = frozenset()
    node: ast.AST | None = None
    module: Module | None = None


@dataclass(frozen=True, eq=False)
class Made(Computed):
    """An object of the framework that a call creates: an optimizer, a scheduler, a clip."""

    name: str = ""
    arguments: dict[str, Value] = field(default_factory=dict)


class Returned(Exception):
    """Raised by a `return` statement, with its value."""

    def __init__(self, value: Value, node: ast.AST) -> None:
        super().__init__()
        self.value, self.node = value, node


THINGS = (Model, Parameters, Batch, Fed, Feeds, Output, Loss)


def origins_of(*values: Value) -> frozenset[Value]:
    """Return the origins (items of a batch, the model, outputs) that values are, contain or depend on."""
    found: frozenset[Value] = frozenset()
    for value in values:
        if isinstance(value, Computed):
            found |= value.origins
        elif isinstance(value, Many):
            found |= origins_of(value.item)
        elif isinstance(value, THINGS):
            found |= {value}
        elif isinstance(value, list | tuple):
            found |= origins_of(*value)
        elif isinstance(value, dict):
            found |= origins_of(*value.values())
    return found


def is_metrics(value: Value) -> bool:
    """Return whether a value consists only of metrics and None, also inside lists and tuples."""
    if isinstance(value, list | tuple):
        return all(map(is_metrics, value))
    return value is None or isinstance(value, Metrics) or (isinstance(value, Many) and is_metrics(value.item))


def is_plain(value: Value) -> bool:
    """Return whether a value consists only of Python values, also inside lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | range)
