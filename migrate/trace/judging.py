"""Gives the variables of a record the verdicts on their graphs: which become tables, and why others stay."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from migrate.trace.child.verdicts import beside, looks_up, verdict
from migrate.trace.record import GraphRecord, Record, Variable

#: Said of the variables of a process that may be one of several.
SEVERAL = "`TF_CONFIG` was set in that run, without parameter servers, so a strategy may share the variable"


def judged(record: Record, folder: Path) -> Record:
    """Return the record with a verdict on each variable that is looked up in a graph whose file is in `folder`."""
    several = _shared_otherwise(record.environment.get("TF_CONFIG"))
    return replace(record, graphs=tuple(_with_verdicts(graph, folder, several) for graph in record.graphs))


def _shared_otherwise(config: str | None) -> bool:
    """Return whether a run may be one of several processes whose variables are not on parameter servers."""
    if not config:
        return False
    try:
        cluster = json.loads(config)["cluster"]
    except (ValueError, KeyError, TypeError):
        return True
    return not (isinstance(cluster, dict) and cluster.get("ps"))


def _with_verdicts(graph: GraphRecord, folder: Path, several: bool) -> GraphRecord:
    if not graph.graph or not graph.variables:
        return graph
    known = SEVERAL if several else _verdict(folder / graph.graph)
    if isinstance(known, str):
        variables = tuple(replace(one, stays=known) if _looked_up(one) else one for one in graph.variables)
        return replace(graph, variables=variables)
    moved, stay = known["moved"], known["stay"]
    return replace(
        graph,
        growth=tuple(known["growth"]),
        variables=tuple(
            replace(
                one,
                table=moved[one.name]["table"],
                rules=tuple(moved[one.name]["rules"]),
                bound=moved[one.name]["bound"],
            )
            if one.name in moved
            else _kept(one, stay[one.name])
            if one.name in stay
            else one
            for one in graph.variables
        ),
    )


def _looked_up(variable: Variable) -> bool:
    return any(looks_up(use.op) for use in variable.uses)


def _kept(variable: Variable, refusal: Mapping[str, Any]) -> Variable:
    """Return a variable that stays, with the line that built the op at fault."""
    faults = [use for use in variable.uses if use.name in refusal["path"] and use.at]
    if not faults:
        return replace(variable, stays=refusal["reason"])
    place = "{}:{}".format(*faults[-1].at[0])
    return replace(variable, stays=f"{refusal['reason']}, built at {place}", fault=faults[-1].name)


def _verdict(file: Path) -> dict[str, Any] | str:
    """Return what `rewriter.install` would do to a graph, or why that is not known.

    A process that was killed, or that lacks the rewriter, has not said it: this one imports TensorFlow then.
    """
    if beside(file).exists():
        said: dict[str, Any] = json.loads(beside(file).read_text(encoding="utf-8"))
        return said
    try:
        return verdict(file)
    except Exception as error:  # what TensorFlow raises for a graph that it cannot import
        (first, *_) = str(error).splitlines() or [""]
        return (
            f"its graph cannot be judged from a file ({type(error).__name__}: {first}); `migrate run` judges it in the "
            "program"
        )
