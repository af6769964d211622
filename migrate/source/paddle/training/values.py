"""What the functions of a trainer handle: the model, a batch's items, outputs, the loss, and what is made of them."""

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
    """What the reader gives."""


class Metrics:
    """What `create_metrics` made, and its items: nothing of it reaches the loss."""


MODEL, PARAMETERS, TRAINER_SELF, BATCH, METRICS = Model(), Parameters(), Trainer(), Batch(), Metrics()


@dataclass(frozen=True)
class Fed:
    """An item of a batch as the reader gives it, in float32 (or, `whole`, as integers) and perhaps reshaped."""

    index: int
    width: int | None = None  #: columns [batch, width], where a reshape says so
    whole: bool = False


@dataclass(frozen=True)
class Feeds:
    """The items of a batch from `start` on, each treated alike; how many there are is the reader's."""

    start: int = 0
    width: int | None = None
    whole: bool = False

    def __getitem__(self, place: int) -> Fed:
        """Return the item at a place that counts from `start`."""
        return Fed(self.start + place, self.width, self.whole)


@dataclass(frozen=True, eq=False)
class Many:
    """Items of which each is like `item`, and whose number is not known."""

    item: Value


@dataclass(frozen=True)
class Output:
    """What the model returns at this place, unchanged."""

    index: int


@dataclass(frozen=True, eq=False)
class Loss:
    """What `create_loss` returns, unchanged."""


@dataclass(frozen=True)
class LossCall:
    """A call of `create_loss`: its arguments by parameter, and how the call spells them."""

    made: Loss
    arguments: dict[str, Value]
    spelled: dict[str, str]
    node: ast.AST


@dataclass(frozen=True, eq=False)
class Computed:
    """Anything made of others; `origins` are the things above that it depends on, `node` the first change to them."""

    origins: frozenset[Value] = frozenset()
    node: ast.AST | None = None
    module: Module | None = None


@dataclass(frozen=True, eq=False)
class Made(Computed):
    """An object of the framework, made by a call: an optimizer, a scheduler, a clip."""

    name: str = ""
    arguments: dict[str, Value] = field(default_factory=dict)


class Returned(Exception):
    """A `return` statement; it carries the value."""

    def __init__(self, value: Value, node: ast.AST) -> None:
        super().__init__()
        self.value, self.node = value, node


THINGS = (Model, Parameters, Batch, Fed, Feeds, Output, Loss)


def origins_of(*values: Value) -> frozenset[Value]:
    """Return the things of a batch or model that values are, contain or depend on."""
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
    """Return whether a value is of the metrics, or nothing, also inside lists and tuples."""
    if isinstance(value, list | tuple):
        return all(map(is_metrics, value))
    return value is None or isinstance(value, Metrics) or (isinstance(value, Many) and is_metrics(value.item))


def is_plain(value: Value) -> bool:
    """Return whether a value is Python's own, also inside lists, tuples and dicts."""
    if isinstance(value, list | tuple):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | range)
