"""The plan: which tables move, which inputs then read something else, and what stays and why, as data."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from rewriter.analysis.savers import SaverPart
from rewriter.facts import Refusal, Table
from rewriter.graph.view import Use
from rewriter.plan.region import Region
from rewriter.plan.table_line import table_line

__all__ = ["ControlEdit", "InputEdit", "Plan"]


@dataclass(frozen=True)
class InputEdit:
    """The data input `use` reads the part called `by` instead of the tensor `old`; of its shape if `same_shape`.

    `rule` of `table` asks for it (of several tables, separated by commas, when they share a Saver); `source` is the
    user's line that built the op.
    """

    use: Use
    old: str
    by: str
    same_shape: bool = True
    rule: str = ""
    table: str = ""
    source: str = ""


@dataclass(frozen=True)
class ControlEdit:
    """`op` waits for the part called `by` instead of the ops `old`; the rest is as in InputEdit."""

    op: str
    old: tuple[str, ...]
    by: str
    rule: str = ""
    table: str = ""
    source: str = ""


@dataclass(frozen=True)
class Plan:
    """What a rewrite does. Parts, the ops that it adds, are called `<table>/lookup/<n>`, `<table>/update/<n>`, …

    `inlined` are the outputs of calls of functions, whose lookups were inlined first, and the tensors in their place.
    """

    tables: tuple[Table, ...]
    refusals: tuple[Refusal, ...]
    inputs: tuple[InputEdit, ...]
    controls: tuple[ControlEdit, ...]
    savers: tuple[SaverPart, ...] = ()
    regions: tuple[Region, ...] = ()
    inlined: tuple[tuple[str, str], ...] = ()

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str)

    def summary(self) -> str:
        """Return what moves and what stays, a line each."""
        moved = [table_line(table) for table in self.tables]
        return "\n".join([*moved, *map(str, self.refusals)])
