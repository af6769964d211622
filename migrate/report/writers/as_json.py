"""JSON: the format that `migrate report` reads back."""

from __future__ import annotations

from migrate.report.model import Report
from migrate.report.serialize import to_json


def render(report: Report) -> str:
    """Return the report as JSON text."""
    return to_json(report)
