"""Makes the plan: judges the variables of a graph and lists the edits that replace them with tables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from rewriter.analysis.candidates import find_tables
from rewriter.analysis.savers import SaverPart, find_savers
from rewriter.facts import RESOURCE_GATHERS, Lookup, Table
from rewriter.graph.view import GraphView, Tensor, Use
from rewriter.patterns.assignments import results_of
from rewriter.patterns.branches import is_reference, readers, source
from rewriter.patterns.pooled import PRODUCT, SEGMENTS
from rewriter.plan.initialized import asked, asked_in_place
from rewriter.plan.plan import ControlEdit, InputEdit, Plan
from rewriter.plan.provenance import with_rules
from rewriter.plan.region_cut import with_regions
from rewriter.plan.starts import started

__all__ = ["make_plan"]


def make_plan(view: GraphView, tables: Any = "auto", moved: Collection[str] = ()) -> Plan:
    """Judge the variables of a graph (`tables`: "auto" for all that are looked up, or names) and list the edits.

    The variables `moved` became tables in an earlier rewrite and are skipped.

    Raises:
        ValueError: a name in `tables` is not a variable of the graph.
    """
    found, refusals = find_tables(view, None if tables == "auto" else list(tables), moved)
    inputs = [edit for table in found for edit in _inputs(view, table)]
    controls = [edit for table in found for edit in _controls(view, table)]
    savers = find_savers(view, found)
    inputs += [edit for saver in savers for edit in _saver_inputs(view, saver)]
    controls += [edit for saver in savers for edit in _saver_controls(view, saver)]
    plan = Plan(tuple(found), tuple(refusals), tuple(inputs), tuple(controls), savers)
    return with_regions(view, with_rules(view, plan))


def _inputs(view: GraphView, table: Table) -> list[InputEdit]:
    parts = list(_replaced(view, table).items())
    direct = {use.op for use in asked_in_place(view, table)}
    answers = (one for one in table.answers if one.op not in direct)
    parts += [(answer.op, f"{table.name}/{answer.kind}/{answer.op}") for answer in answers]
    parts += [(term.op, f"{table.name}/term/{term.op}") for term in table.terms]
    parts += [(one.op, f"{table.name}/row/{i}") for i, one in enumerate(table.row_ops) if one.how == "read"]
    edits = [InputEdit(use, f"{op}:0", part) for op, part in parts for use in view.users(op)]
    edits += [*_set_elsewhere(view, table), *asked(view, table)[0]]
    edits += [InputEdit(Use(one.op, one.input), str(one.old), f"{table.name}/rows/{one.key}") for one in table.reads]
    return edits + [edit for i, lookup in enumerate(table.lookups) for edit in _fetches(view, table, i, lookup)]


def _set_elsewhere(view: GraphView, table: Table) -> list[InputEdit]:
    """Redirect assignments of ref variables, which now raise when they run, to a variable that nothing reads."""
    sets = [(one.op, one.part) for one in (*table.set_by, *table.initial_rows)]
    return [
        InputEdit(Use(op, 0), str(view.inputs(op)[0]), f"{table.name}/assigned/{part}")
        for op, part in dict.fromkeys(sets)
        if is_reference(view, source(view, view.inputs(op)[0]).op)
    ]


def _replaced(view: GraphView, table: Table) -> dict[str, str]:
    """Return the lookup ops that parts replace; a pooled lookup stays and reads the rows of its new lookup."""
    lookups = enumerate(table.lookups)
    return {one.op: f"{table.name}/lookup/{i}" for i, one in lookups if view.type(one.op) not in (*SEGMENTS, PRODUCT)}


def _fetches(view: GraphView, table: Table, number: int, lookup: Lookup) -> list[InputEdit]:
    """Let the old gather, which user code may fetch, pick the looked-up rows one by one.

    The segments of a pooled lookup pool them in the same way. A gather on a handle cannot read rows: it raises when
    it is fetched and says what to fetch instead (embedding_lookup adds an Identity after it).
    """
    if view.type(lookup.op) in RESOURCE_GATHERS:
        return []
    parts = [f"{table.name}/lookup/{number}/{part}" for part in ("rows", "numbers")]
    inputs = view.inputs(lookup.op)
    if lookup.product:
        given = {0: parts[1], 2: f"{table.name}/lookup/{number}/size", 3: parts[0]}
        return [InputEdit(Use(lookup.op, i), str(inputs[i]), part, same_shape=i != 3) for i, part in given.items()]
    if lookup.gathers:
        # For each part, its rows become all rows, at the positions of all ids.
        parts = [part for part in reversed(parts) for _ in lookup.gathers]
    return [
        InputEdit(Use(lookup.op, i), str(inputs[i]), part, same_shape=lookup.gathers == () and i != 0)
        for i, part in enumerate(parts)
    ]


def _controls(view: GraphView, table: Table) -> list[ControlEdit]:
    replaced = _replaced(view, table)
    replaced |= {op: f"{table.name}/lookup/{i}" for i, lookup in enumerate(table.lookups) for op in lookup.gathers}
    replaced |= {op: f"{table.name}/update/{i}" for i, update in enumerate(table.updates) for op in update.ops}
    replaced |= {op: f"{table.name}/carried/{op}" for op in table.carriers}
    replaced |= {term.op: f"{table.name}/term/{term.op}" for term in table.terms}
    inside = {op for update in table.updates for op in update.ops}
    results = {op for one in table.row_ops for op in one.results}
    pairs = [(op, part) for op, part in replaced.items() if op not in results]
    rows = {f"{table.name}/row/{i}": one for i, one in enumerate(table.row_ops)}
    pairs += [(op, part) for part, one in rows.items() for op in (one.op, *one.results)]
    waits: dict[tuple[str, str], list[str]] = {}
    for op, part in pairs:
        for waiting in view.waiting(op):
            if waiting not in inside or part in rows:
                waits.setdefault((waiting, part), []).append(op)
    edits = [ControlEdit(op, tuple(dict.fromkeys(old)), part) for (op, part), old in waits.items()]
    edits += [*asked(view, table)[1], *started(view, table)]
    gathers = {op: i for i, lookup in enumerate(table.lookups) for op in (lookup.op, *lookup.gathers)}
    resources = {op: i for op, i in gathers.items() if view.type(op) in RESOURCE_GATHERS}
    edits += [ControlEdit(op, (), f"{table.name}/lookup/{i}/moved") for op, i in resources.items()]
    edits += [ControlEdit(one.op, (), f"{table.name}/assign/{one.op}") for one in table.assigned]
    known = {*resources, *results_of(view, table)}
    left = dict.fromkeys(op for variable in table.variables for op in readers(view, variable) if op not in known)
    return edits + [ControlEdit(op, (), f"{table.name}/gone") for op in left]


def _saver_inputs(view: GraphView, saver: SaverPart) -> list[InputEdit]:
    """Yield the inputs that read variables which a RestoreV2 restores together with tables."""
    return [
        InputEdit(use, str(Tensor(saver.op, number)), f"saver/{saver.op}/{number}")
        for number, _, _ in saver.kept
        for use in (view.uses(Tensor(saver.op, number)) if saver.restores else ())
    ]


def _saver_controls(view: GraphView, saver: SaverPart) -> list[ControlEdit]:
    replaced = {saver.op: f"saver/{saver.op}"}
    replaced |= {
        op: f"{saved.table}/restore/{saver.op}" for saved in saver.tables for op in saved.assignments if saver.restores
    }
    waits: dict[tuple[str, str], list[str]] = {}
    for op, part in replaced.items():
        for waiting in view.waiting(op):
            if waiting not in replaced:
                waits.setdefault((waiting, part), []).append(op)
    return [ControlEdit(op, tuple(old), part) for (op, part), old in waits.items()]
