"""Adds to each edit of a plan the user's line that built the op."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from rewriter.by_rows.place import SCOPE
from rewriter.facts import Table
from rewriter.plan.plan import Plan
from rewriter.plan.region import ADDED, Region

#: Returns the user's line for each given op that has one.
Sources = Callable[[Iterable[str]], Mapping[str, str]]


def with_sources(plan: Plan, sources: Sources) -> Plan:
    """Return the plan with lines of user code; `sources` is called once, with all ops of the plan."""
    # Ops that read rows in the place of others were built by the rewrite, and go by the lines of these.
    lines = {op: text for op, text in sources(_ops(plan)).items() if not op.startswith(f"{SCOPE}/")}
    instead: dict[str, list[str]] = {}
    for edit in plan.rows:
        for name in edit.table.split(", "):
            instead.setdefault(name, []).append(edit.old.rpartition(":")[0])

    def line(*ops: str) -> str:
        return next((lines[op] for op in ops if op in lines), "")

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
