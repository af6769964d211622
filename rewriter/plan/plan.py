"""The plan as data: which tables are added, which inputs read them, and why other variables are not replaced."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from rewriter.analysis.savers import SaverPart
from rewriter.facts import Refusal, Table
from rewriter.graph.view import Use
from rewriter.plan.lines import table_line
from rewriter.plan.region import Region


@dataclass(frozen=True)
class InputEdit:
    """Data input `use` reads the part `by` instead of the tensor `old`, which has its shape if `same_shape`.

    `rule` and `table` say what the edit is for (several tables, separated by commas, if they share a Saver); `source`
    is the user's line that built the op.
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
    """`op` waits for the part `by` instead of the ops `old`; other fields as in InputEdit."""

    op: str
    old: tuple[str, ...]
    by: str
    rule: str = ""
    table: str = ""
    source: str = ""


@dataclass(frozen=True)
class Plan:
    """What a rewrite does. The ops that it adds (parts) are named `<table>/lookup/<n>`, `<table>/update/<n>`, …

    `inlined` are (output of a function call, tensor in its place) pairs of calls that were inlined before, and `rows`
    the edits, made before as well, that let lookups and steps be computed from rows (`rewriter/by_rows`). `every` steps
    share the value of terms over whole variables. `widened` are (tensor that has buckets or hands them on, tensor with
    wide ids in its place for lookups) pairs. `notes` are settings that change nothing.
    """

    tables: tuple[Table, ...]
    refusals: tuple[Refusal, ...]
    inputs: tuple[InputEdit, ...]
    controls: tuple[ControlEdit, ...]
    savers: tuple[SaverPart, ...] = ()
    regions: tuple[Region, ...] = ()
    inlined: tuple[tuple[str, str], ...] = ()
    rows: tuple[InputEdit, ...] = ()
    every: int = 1
    widened: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the plan as JSON."""
        return json.dumps(dataclasses.asdict(self), indent=2, default=str)

    def summary(self) -> str:
        """Return one line for each table that is added and each variable that is not replaced."""
        moved = [table_line(table) for table in self.tables]
        return "\n".join([*moved, *map(str, self.refusals)])
