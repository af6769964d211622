"""What was found in a graph, as data: variables that are tables, their lookups and updates, and why one stays."""

from __future__ import annotations

from dataclasses import dataclass, field

from rewriter.graph.view import Tensor

__all__ = ["Assignment", "Lookup", "NewRows", "Part", "Refusal", "StaticAnswer", "Summary", "Table", "Update"]


@dataclass(frozen=True)
class Lookup:
    """A gather of rows, of the shape of `ids` with the table's dim behind, or what pools such rows.

    Where it stitches the rows of a partitioned variable, `gathers` are those of the parts, and `ids` what they share.
    `rule` and `source` (the user's line, empty where it is not known) are for readers, here and in all that follows.
    """

    op: str
    ids: Tensor
    rows: Tensor
    trains: bool
    rule: str = "lookup"
    source: str = ""
    gathers: tuple[str, ...] = ()


@dataclass(frozen=True)
class Update:
    """A sparse step of a stock optimizer: the sum of `values` per distinct one of `indices`, by a native rule.

    `hyper` are the rule's numbers in its order: tensors of the graph, or constants. `ops` is what the step consists of
    that writes: all who wait for one of them wait for the moved update instead. Where the parts of a partitioned
    variable have gradients of their own, `pieces` are their values and indices, and `slots` those of the first part.
    """

    rule: str
    values: Tensor
    indices: Tensor
    hyper: tuple[Tensor | float, ...]
    starts: tuple[float, ...]
    slots: tuple[str, ...]
    ops: tuple[str, ...]
    source: str = ""
    pieces: tuple[tuple[Tensor, Tensor], ...] = ()


@dataclass(frozen=True)
class StaticAnswer:
    """An op that asks the variable of this `shape` what is known without it.

    `kind` is what: its `shape`, `size` or `rank`, or whether it is `set`.
    """

    op: str
    kind: str
    shape: tuple[int, ...]
    source: str = ""


@dataclass(frozen=True)
class Assignment:
    """An op of the author's that sets all rows, or all of one part, to `value`, such as pretrained ones."""

    op: str
    value: Tensor
    part: int = 0


@dataclass(frozen=True)
class Summary:
    """An op that only summarises all rows, or all of one part."""

    op: str
    input: int
    part: int = 0


@dataclass(frozen=True)
class Part:
    """A part of a partitioned variable, or the whole of another: how it starts, and the slots of its updates."""

    name: str
    rows: int
    initial: Tensor
    initializer: str
    slots: tuple[str, ...]


@dataclass(frozen=True)
class NewRows:
    """How a row starts whose id the variable did not have: `kind` and numbers as the runtime's initializers have them.

    `constant` (a), `normal` and `truncated_normal` (mean a, standard deviation b), `uniform` (from a to b);
    `assumption` says what was not known.
    """

    kind: str
    a: float
    b: float
    seed: int | None = None
    assumption: str = ""

    def __str__(self) -> str:
        if self.kind == "constant":
            return f"{self.a:g}"
        return f"{self.kind}({self.a:g}, {self.b:g})"


@dataclass(frozen=True)
class Table:
    """A variable [rows, dim] of which the graph only gathers, and updates, single rows.

    `carriers` are ops that carry it whole into a branch or loop, or read it, for which ops wait that still run.
    One that is partitioned has several `parts`, over which `strategy`, `mod` or `div`, spreads the ids. `note` says why
    a part is a table of its own.
    """

    name: str
    rows: int
    dim: int
    initial: Tensor
    initializer: str
    lookups: tuple[Lookup, ...]
    updates: tuple[Update, ...] = ()
    answers: tuple[StaticAnswer, ...] = ()
    new_rows: NewRows = NewRows("constant", 0.0, 0.0)
    carriers: tuple[str, ...] = ()
    source: str = ""
    parts: tuple[Part, ...] = ()
    strategy: str = ""
    note: str = ""
    assigned: tuple[Assignment, ...] = ()
    summaries: tuple[Summary, ...] = ()

    @property
    def pieces(self) -> tuple[Part, ...]:
        """The parts of the variable; one that is not partitioned is a part itself."""
        slots = tuple(dict.fromkeys(slot for update in self.updates for slot in update.slots))
        return self.parts or (Part(self.name, self.rows, self.initial, self.initializer, slots),)

    @property
    def slots(self) -> tuple[str, ...]:
        """The slots of all parts."""
        return tuple(slot for part in self.pieces for slot in part.slots)

    @property
    def slots_by_number(self) -> tuple[tuple[str, ...], ...]:
        """Each slot of a row in the order of the row, as its variables: one for each part."""
        return tuple(zip(*(part.slots for part in self.pieces), strict=True))

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables that the table stands for: its parts, each with the slots of its updates."""
        return tuple(name for part in self.pieces for name in (part.name, *part.slots))


@dataclass(frozen=True)
class Refusal:
    """Why a variable that is looked up stays as it is; `path` leads from it to the op at fault.

    `source` is the user's line that built that op, `built` the one that built the variable.
    """

    table: str
    reason: str
    path: tuple[str, ...] = field(default=())
    shape: tuple[int, ...] = ()
    source: str = ""
    built: str = ""

    def __str__(self) -> str:
        way = " → ".join(self.path)
        built = f", built at {self.source}" if self.source else ""
        return f"`{self.table}` stays a variable: {self.reason}" + (f" ({way})" if way else "") + built
