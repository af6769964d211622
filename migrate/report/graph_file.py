"""The report of `migrate graph` on the tables of a graph file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from migrate.report.graph_proof import read_proof
from migrate.report.graph_record import plan_report
from migrate.report.merge import merge
from migrate.report.model import InputFile, Location, Report, Stage, Verification

if TYPE_CHECKING:
    from rewriter.plan.plan import Plan
    from rewriter.proof.result import Proof

__all__ = ["file_report"]


def file_report(
    source: str,
    plans: Mapping[str, Plan],
    written: str | None,
    command: str,
    proofs: Mapping[str, Proof] | None = None,
) -> Report:
    """Return one report on all graphs of a file.

    Args:
        source: the graph file.
        plans: the plan of each graph, by its tags.
        written: where the converted graph was written; None if nothing was written.
        command: the command line of the run.
        proofs: the comparison of each graph with its converted graph, by its tags.
    """
    file = InputFile(Path(source).as_posix(), _digest(Path(source)), "graph")
    reports = [_report(plan, tags, len(plans) > 1, file, command, written) for tags, plan in plans.items()]
    report = merge(reports)
    if proofs:
        report = replace(report, verifications=tuple(_proof(proof, tags, file) for tags, proof in proofs.items()))
    return report


def _report(plan: Plan, tags: str, several: bool, file: InputFile, command: str, written: str | None) -> Report:
    report = plan_report(json.loads(plan.to_json()), command, file.path, [file], written)
    if not several:
        return report
    return replace(
        report,
        findings=tuple(replace(one, location=_tagged(one.location, tags)) for one in report.findings),
        tables=tuple(replace(one, location=_tagged(one.location, tags)) for one in report.tables),
        stages=tuple(Stage(one.name, one.state, f"{tags}: {one.message}") for one in report.stages),
    )


def _proof(proof: Proof, tags: str, file: InputFile) -> Verification:
    from rewriter.record import proof_data

    verification = read_proof(json.loads(json.dumps(proof_data(proof))), file.path)
    return replace(verification, original=f"{file.path} (tags {tags})" if tags else file.path)


def _tagged(location: Location, tags: str) -> Location:
    return replace(location, scope=f"graph tagged {tags}")


def _digest(source: Path) -> str:
    """Return the SHA-256 of a graph file, or of the file in a SavedModel that holds the graph."""
    if source.is_dir():
        source = next(path for name in ("saved_model.pb", "saved_model.pbtxt") if (path := source / name).is_file())
    return hashlib.sha256(source.read_bytes()).hexdigest()
