"""Adds to each edit of a plan the rule and table that it is for, and the user's line that built the op."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from rewriter.by_rows.place import SCOPE
from rewriter.facts import Table
from rewriter.graph.view import GraphView
from rewriter.patterns.pooled import PRODUCT, SEGMENTS
from rewriter.plan.plan import ControlEdit, InputEdit, Plan
from rewriter.plan.region import ADDED, Region

__all__ = ["with_rules", "with_sources"]

Edit = TypeVar("Edit", InputEdit, ControlEdit)
#: Returns the user's line for each given op that has one.
Sources = Callable[[Iterable[str]], Mapping[str, str]]


def with_rules(view: GraphView, plan: Plan) -> Plan:
    """Return the plan with the rule of each lookup, rule and table of each edit, and shapes of refused variables."""
    tables = tuple(_with_rules(view, table) for table in plan.tables)
    refusals = tuple(replace(one, shape=one.shape or _shape(view, one.table)) for one in plan.refusals)
    plan = replace(plan, tables=tables, refusals=refusals)
    origins = _origins(plan)
    names = {table.name for table in tables}

    def told(edit: Edit) -> Edit:
        rule, table = _origin(edit.by, origins, names)
        return replace(edit, rule=rule, table=table)

    return replace(plan, inputs=tuple(map(told, plan.inputs)), controls=tuple(map(told, plan.controls)))


def with_sources(plan: Plan, sources: Sources) -> Plan:
    """Return the plan with lines of user code; `sources` is called once, with all ops of the plan."""
    # Ops that read rows in the place of others were built by the rewrite, and go by the lines of these.
    found = {op: text for op, text in sources(_ops(plan)).items() if not op.startswith(f"{SCOPE}/")}
    instead: dict[str, list[str]] = {}
    for edit in plan.rows:
        for name in edit.table.split(", "):
            instead.setdefault(name, []).append(edit.old.rpartition(":")[0])

    def line(*ops: str) -> str:
        return next((found[op] for op in ops if op in found), "")

    return replace(
        plan,
        tables=tuple(_with_sources(table, line, instead.get(table.name, [])) for table in plan.tables),
        refusals=tuple(
            replace(one, source=line(*reversed(one.path), one.table), built=line(one.table)) for one in plan.refusals
        ),
        inputs=tuple(replace(edit, source=line(edit.use.op)) for edit in plan.inputs),
        controls=tuple(replace(edit, source=line(edit.op)) for edit in plan.controls),
        regions=tuple(_region_with_sources(region, line) for region in plan.regions),
    )


def _with_rules(view: GraphView, table: Table) -> Table:
    kinds = ("pooled lookup" if view.type(lookup.op) in (*SEGMENTS, PRODUCT) else "lookup" for lookup in table.lookups)
    return replace(
        table, lookups=tuple(replace(lookup, rule=kind) for lookup, kind in zip(table.lookups, kinds, strict=True))
    )


def _shape(view: GraphView, variable: str) -> tuple[int, ...]:
    """Return a variable's shape, with -1 for unknown dimensions; empty if the rank is unknown."""
    return tuple(int(one.size) for one in view.attribute(variable, "shape").shape.dim)


def _origins(plan: Plan) -> dict[str, tuple[str, str]]:
    """Return (rule, table) by the part that an edit brings in."""
    found: dict[str, tuple[str, str]] = {}
    for table in plan.tables:
        found[f"{table.name}/initializer"] = "initializer", table.name
        for i, lookup in enumerate(table.lookups):
            found[f"{table.name}/lookup/{i}"] = lookup.rule, table.name
        for i, update in enumerate(table.updates):
            found[f"{table.name}/update/{i}"] = f"update by {update.rule}", table.name
        for i, row_op in enumerate(table.row_ops):
            found[f"{table.name}/row/{i}"] = f"{row_op.how} rows", table.name
        for read in table.reads:
            found[f"{table.name}/rows/{read.key}"] = "all rows", table.name
        for term in table.terms:
            found[f"{table.name}/term/{term.op}"] = "term over all rows", table.name
        for first in table.initial_rows:
            found[f"{table.name}/assign/{first.op}"] = "initializer", table.name
        for assignment in table.assigned:
            found[f"{table.name}/assign/{assignment.op}"] = "assignment", table.name
        for start in table.slot_starts:
            found[f"{table.name}/slot/{start.op}"] = "slots started again", table.name
        for answer in table.answers:
            found[f"{table.name}/{answer.kind}/{answer.op}"] = "answer", table.name
    for saver in plan.savers:
        found[f"saver/{saver.op}"] = "saver", ", ".join(saved.table for saved in saver.tables)
        for saved in saver.tables:
            found[f"{saved.table}/restore/{saver.op}"] = "saver", saved.table
    return found


def _origin(part: str, origins: Mapping[str, tuple[str, str]], names: Collection[str]) -> tuple[str, str]:
    """Return (rule, table) of a part, or of the part that it belongs to (`user/lookup/0/rows`)."""
    pieces = [part]
    while pieces[-1]:
        if pieces[-1] in origins:
            return origins[pieces[-1]]
        pieces.append(pieces[-1].rpartition("/")[0])
    table = next((piece for piece in pieces[1:] if piece in names), "")
    return part.removeprefix(f"{table}/").partition("/")[0], table


def _ops(plan: Plan) -> Iterable[str]:
    for table in plan.tables:
        yield table.pieces[0].name
        yield from (lookup.op for lookup in table.lookups)
        yield from (answer.op for answer in table.answers)
        yield from (read.op for read in table.reads)
        yield from (update.ops[0] for update in table.updates)
        yield from (row_op.op for row_op in table.row_ops)
    for refusal in plan.refusals:
        yield from (refusal.table, *refusal.path)
    yield from (edit.use.op for edit in plan.inputs)
    yield from (edit.old.rpartition(":")[0] for edit in plan.rows)
    yield from (edit.op for edit in plan.controls)
    yield from (box.ops[0] for region in plan.regions for box in region.boxes if box.state != ADDED)


def _with_sources(table: Table, line: Callable[..., str], instead: Sequence[str]) -> Table:
    return replace(
        table,
        source=line(table.pieces[0].name),
        lookups=tuple(replace(one, source=line(one.op, *instead)) for one in table.lookups),
        updates=tuple(replace(one, source=line(one.ops[0])) for one in table.updates),
        row_ops=tuple(replace(one, source=line(one.op)) for one in table.row_ops),
        answers=tuple(replace(one, source=line(one.op)) for one in table.answers),
        reads=tuple(replace(one, source=line(one.op)) for one in table.reads),
    )


def _region_with_sources(region: Region, line: Callable[..., str]) -> Region:
    boxes = (box if box.state == ADDED else replace(box, source=line(box.ops[0])) for box in region.boxes)
    return replace(region, boxes=tuple(boxes))
