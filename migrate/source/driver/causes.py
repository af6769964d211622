"""Files of a Paddle model that stay because of another file: that file says why, unless the run does not have it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from migrate.report.model import Finding, State
from migrate.source.files.conversion_result import SourceResult

#: Rules whose finding is work at the file with the cause, and a note at the other files of its model.
_TOLD_ONCE = frozenset({"paddle-inputs", "paddle-unsupported"})


def with_causes(results: Sequence[SourceResult]) -> list[SourceResult]:
    """Return the results; a note on a file that stays is work where no file of the run has the cause."""
    told = {finding.rule for one in results for finding in one.findings if finding.remains}
    return [replace(one, findings=tuple(_work(finding, told) for finding in one.findings)) for one in results]


def _work(finding: Finding, told: set[str]) -> Finding:
    is_left = finding.state is State.NOTED and finding.subject == "file" and finding.rule in _TOLD_ONCE - told
    return replace(finding, state=State.UNSUPPORTED) if is_left else finding
