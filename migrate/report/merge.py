"""Merges the reports of several commands into one, e.g. a conversion and its verification."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from migrate.report.model import InputFile, Report, Stage

#: States from best to worst; the merged report has the worse of two states of a stage.
_STATES = ("not run", "ok", "failed")


def _stages(reports: Iterable[Report]) -> tuple[Stage, ...]:
    joined: dict[str, Stage] = {}
    for stage in (stage for report in reports for stage in report.stages):
        known = joined.get(stage.name)
        if known is None or _STATES.index(stage.state) > _STATES.index(known.state):
            joined[stage.name] = stage
        elif stage.state == known.state and stage.message not in known.message:
            joined[stage.name] = replace(known, message=f"{known.message.rstrip('.')}; {stage.message}".lstrip("; "))
    return tuple(joined.values())


def _inputs(reports: Iterable[Report]) -> tuple[InputFile, ...]:
    joined: dict[str, InputFile] = {}
    for item in (item for report in reports for item in report.inputs):
        known = joined.get(item.path)
        if known is None or (item.diff and not known.diff):
            joined[item.path] = item
    return tuple(joined.values())


def merge(reports: Sequence[Report]) -> Report:
    """Return one report with the contents of `reports` (at least one), in order; equal parts appear once."""
    if len(reports) == 1:
        return reports[0]
    return Report(
        command=" && ".join(report.command for report in reports),
        tool_version=", ".join(dict.fromkeys(report.tool_version for report in reports)),
        inputs=_inputs(reports),
        stages=_stages(reports),
        findings=tuple(dict.fromkeys(finding for report in reports for finding in report.findings)),
        tables=tuple(dict.fromkeys(table for report in reports for table in report.tables)),
        verifications=tuple(proof for report in reports for proof in report.verifications),
        rules=tuple(dict.fromkeys(rule for report in reports for rule in report.rules)),
        environment=next((report.environment for report in reports if report.environment), reports[0].environment),
    )
