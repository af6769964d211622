"""Links that lead out of a given directory: what is there is not the user's to convert, and is not read."""

from __future__ import annotations

from migrate.report.model import Finding, Location, State, with_ids
from migrate.source.files.conversion_result import SourceResult

RULE = "outside-link"


def not_followed(path: str, target: str) -> SourceResult:
    """Return the result of a link: nothing is converted, and a note says where it leads."""
    finding = Finding(
        RULE,
        "file",
        State.NOTED,
        Location(path, 0, 0),
        "a link out of the given directory, not followed",
        reason=f"it leads to {target}",
        action="to convert that file, give its path, too",
    )
    return SourceResult(path, "other", "", "", with_ids([finding]))
