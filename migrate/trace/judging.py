"""Judges the graphs of a run as `rewriter.install` would: which variables become tables, and why others stay."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from migrate.trace.record import GraphRecord, Record, Variable

if TYPE_CHECKING:
    from rewriter.facts import Refusal, Table
    from rewriter.plan.plan import Plan

#: Types of ops that take rows of a variable by ids.
_LOOKUPS = re.compile("(Resource)?Gather(V2|Nd)?$|SparseSegment")
#: Said of the variables of a process that may be one of several.
SEVERAL = "`TF_CONFIG` was set in that run, so that several processes may share it"


def judged(record: Record, folder: Path) -> Record:
    """Return the record with a verdict on each variable that is looked up in a graph whose file is in `folder`."""
    several = bool(record.environment.get("TF_CONFIG"))
    return replace(record, graphs=tuple(_with_verdicts(graph, folder, several) for graph in record.graphs))


def _with_verdicts(graph: GraphRecord, folder: Path, several: bool) -> GraphRecord:
    if not graph.graph or not graph.variables:
        return graph
    plan = SEVERAL if several else _plan(folder / graph.graph)
    if isinstance(plan, str):
        variables = tuple(replace(one, stays=plan) if _looked_up(one) else one for one in graph.variables)
        return replace(graph, variables=variables)
    tables = {part.name: table for table in plan.tables for part in table.pieces}
    stay = {refusal.table: refusal for refusal in plan.refusals}
    return replace(
        graph,
        variables=tuple(
            _moved(one, tables[one.name])
            if one.name in tables
            else _kept(one, stay[one.name])
            if one.name in stay
            else one
            for one in graph.variables
        ),
    )


def _looked_up(variable: Variable) -> bool:
    return any(_LOOKUPS.match(use.op) for use in variable.uses)


def _moved(variable: Variable, table: Table) -> Variable:
    return replace(variable, table=table.name, rules=tuple(sorted({update.rule for update in table.updates})))


def _kept(variable: Variable, refusal: Refusal) -> Variable:
    """Return a variable that stays, with the line that built the op at fault."""
    faults = [use for use in variable.uses if use.name in refusal.path and use.at]
    if not faults:
        return replace(variable, stays=refusal.reason)
    place = "{}:{}".format(*faults[-1].at[0])
    return replace(variable, stays=f"{refusal.reason}, built at {place}", fault=faults[-1].name)


def _plan(file: Path) -> Plan | str:
    """Return what `rewriter.install` would do to a graph, or why that is not known."""
    from rewriter.graph.files import read_message
    from rewriter.offline.imports import imported
    from rewriter.rewrite_graph import rewrite

    try:
        with imported(read_message(file)) as graph:
            return rewrite(graph, dry_run=True)
    except Exception as error:  # what TensorFlow raises for a graph that it cannot import
        (said, *_) = str(error).splitlines() or [""]
        return (
            f"its graph cannot be judged from a file ({type(error).__name__}: {said}); `migrate run` judges it in the "
            "program"
        )
