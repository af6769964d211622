"""The record of a rewrite: a JSON file that says what a hook did, for `migrate report`."""

from __future__ import annotations

import dataclasses
import json
import platform
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from rewriter.facts import Table
from rewriter.graph.view import uncollected
from rewriter.pipeline.plan import PipelinePlan
from rewriter.plan.growth_lines import growth_lines
from rewriter.plan.plan import Plan
from rewriter.proof.result import Proof, finite

#: Name and version of the format; adding keys increments the last number.
RECORD = ("recmigrate-graph", 1, 2)


@uncollected()
def record(plan: Plan, ids: PipelinePlan | None = None, proof: Proof | None = None) -> dict[str, Any]:
    """Return the record as JSON-compatible values."""
    name, major, minor = RECORD
    return {
        "schema": {"name": name, "major": major, "minor": minor},
        "command": shlex.join(["python", *sys.argv]),
        "plan": _data(plan),
        "growth": growth_lines(plan.tables),
        "ids": _ids(ids or PipelinePlan()),
        "proof": proof_data(proof) if proof else None,
        "environment": {
            "python": platform.python_version(),
            "platform": f"{platform.system()} {platform.machine()}",
            "tensorflow": tf.__version__,
        },
    }


def check_record_path(path: str) -> Path:
    """Check the path of a record before it is written, and return it.

    Raises:
        ValueError: the path does not end with `.json`, or its directory does not exist.
    """
    if Path(path).suffix != ".json":
        raise ValueError(f"report={path!r} must name a .json file; `migrate report html` makes a page of it")
    if not Path(path).parent.is_dir():
        raise ValueError(f"report={path!r}: its directory does not exist; create it first")
    return Path(path)


def write_record(path: Path, plan: Plan, ids: PipelinePlan, proof: Proof | None = None) -> None:
    """Write the record of a rewrite atomically: readers see the whole file or none."""
    content = record(plan, ids, proof)
    written = path.with_name(f".{path.name}.new")
    written.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    written.replace(path)


def joined(plans: Sequence[Plan]) -> Plan:
    """Return the plans of a process as one: each table as the graph with most of its updates has it, or the first."""
    chosen: dict[str, tuple[Table, Plan]] = {}
    for plan in plans:
        for table in plan.tables:
            if table.name not in chosen or len(table.updates) > len(chosen[table.name][0].updates):
                chosen[table.name] = table, plan
    stay = {one.table: one for plan in plans for one in plan.refusals if one.table not in chosen}
    of_tables = list({id(plan): plan for _, plan in chosen.values()}.values())
    return Plan(
        tuple(table for table, _ in chosen.values()),
        tuple(stay.values()),
        tuple(edit for plan in of_tables for edit in plan.inputs),
        tuple(edit for plan in of_tables for edit in plan.controls),
        tuple(saver for plan in of_tables for saver in plan.savers),
        tuple(one for table, plan in chosen.values() for one in plan.regions if one.table == table.name),
    )


def _data(plan: Plan) -> Any:
    return json.loads(plan.to_json())


def _ids(ids: PipelinePlan) -> dict[str, Any]:
    """Return how many lookups take their ids from datasets, and why the others do not."""
    staying = [
        {
            "table": one.ids.table,
            "op": one.ids.op,
            "reason": one.reason,
            "path": list(one.path),
            "source": one.source,
        }
        for one in ids.staying
    ]
    return {"moved": len(ids.moved), "passing": len(ids.passing), "staying": staying}


def proof_data(proof: Proof) -> dict[str, Any]:
    """Return the proof as JSON-compatible values; infinities and NaN become strings."""
    data: dict[str, Any] = finite(dataclasses.asdict(proof))
    return data | {"ok": proof.ok, "difference": str(proof.difference) if proof.difference else ""}
