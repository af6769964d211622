"""Report writers, one module per format; `write` selects the format by the path's extension."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path

from migrate.errors import MigrateError
from migrate.report import environment
from migrate.report.files import write_atomically
from migrate.report.model import Report, with_ids

#: Extension -> module here with `render(report) -> str`, imported on use, so that only HTML needs jinja2.
FORMATS = {
    ".json": "as_json",
    ".html": "as_html",
    ".htm": "as_html",
    ".md": "as_markdown",
    ".markdown": "as_markdown",
    ".txt": "as_text",
    ".sarif": "as_sarif",
}
#: Format of `--output-format` -> module, as above.
PRINTED = {
    "text": "as_text",
    "json": "as_json",
    "github": "as_github",
    "sarif": "as_sarif",
    "markdown": "as_markdown",
}


def write(report: Report, path: Path | str) -> None:
    """Write the report atomically in the format of the path's extension.

    Findings without an id get one, and the environment is collected when it is None. Raises `MigrateError` for an
    extension that no writer knows and for a path that cannot be written.
    """
    write_atomically(Path(path), render(report, check_path(path)))


def check_path(path: Path | str) -> str:
    """Return the path's extension, or raise `MigrateError` if it is unknown; to be called before long work."""
    suffix = Path(path).suffix.lower()
    if suffix not in FORMATS:
        known = ", ".join(FORMATS)
        raise MigrateError(f"cannot write a report to `{path}`: extension `{suffix}` is unknown; use one of {known}")
    return suffix


def render(report: Report, suffix: str) -> str:
    """Return the report in the format of `suffix`, a key of `FORMATS`."""
    return _rendered(report, FORMATS[suffix])


def printed(report: Report, style: str) -> str:
    """Return the report in a format of `PRINTED`."""
    return _rendered(report, PRINTED[style])


def _rendered(report: Report, module: str) -> str:
    text: str = importlib.import_module(f"{__name__}.{module}").render(prepared(report))
    return text


def prepared(report: Report) -> Report:
    """Return the report with the ids of all findings and the environment set."""
    if any(not finding.id for finding in report.findings):
        report = replace(report, findings=with_ids(report.findings))
    return replace(report, environment=environment.collect()) if report.environment is None else report
