"""Writes reports as JSON and reads them. Equal reports give equal bytes; only `environment` depends on the machine."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

from migrate.errors import MigrateError
from migrate.regular_files import read_regular_text
from migrate.report import decode, graph_record, summary
from migrate.report.model import SCHEMA, Report

#: Data class attribute -> JSON key, where the two differ.
KEYS = {"verifications": "verification"}
PARTS = ("inputs", "stages", "findings", "tables", "verifications", "rules")
#: Parts that reports of earlier minor versions do not have.
LATER = {"rules"}


def to_data(report: Report) -> dict[str, Any]:
    """Return the report as JSON types: `schema`, `tool`, `command`, the parts, `summary` and `environment`."""
    name, major, minor = SCHEMA
    data: dict[str, Any] = {
        "schema": {"name": name, "major": major, "minor": minor},
        "tool": {"name": "recmigrate", "version": report.tool_version},
        "command": report.command,
        "summary": _summary(report),
    }
    data |= {KEYS.get(part, part): encoded(getattr(report, part)) for part in PARTS}
    return data | {"environment": dict(report.environment or ())}


def to_json(report: Report) -> str:
    """Return the JSON text: indented, ASCII only, newline at the end."""
    return json.dumps(to_data(report), indent=1, allow_nan=False) + "\n"


def from_data(data: Any, origin: str) -> Report:
    """Return the report that `to_data` wrote as `data`; `origin` is the file name for error messages.

    Raises `MigrateError` for another format or major version, and for a key that is missing or has a wrong type.
    """
    _check_schema(data, origin)
    facts = data.get("environment", {})
    if not isinstance(facts, dict):
        raise MigrateError(f"`{origin}`: `environment` must be an object; write the report again with `--report`")
    tool = data.get("tool")
    if not isinstance(tool, dict):
        raise MigrateError(f"`{origin}`: `tool` is missing; write the report again with `--report`")
    flat = {"command": data.get("command"), "tool_version": tool.get("version")}
    flat |= {part: data[KEYS.get(part, part)] for part in PARTS if KEYS.get(part, part) in data}
    missing = [KEYS.get(part, part) for part in PARTS if part not in flat and part not in LATER]
    if missing:
        raise MigrateError(f"`{origin}`: `{missing[0]}` is missing; write the report again with `--report`")
    flat["environment"] = [[str(key), str(value)] for key, value in facts.items()]
    return decode.decode(Report, flat, origin)


def read_report(path: Path | str) -> Report:
    """Return the report of a JSON file, which may also be a record written by GraphModifierHook.

    Raises `MigrateError` when the file cannot be read or is neither.
    """
    try:
        text = read_regular_text(Path(path))
    except OSError as error:
        raise MigrateError(f"cannot read the report `{path}`: {error.strerror or error}; check the path") from error
    except UnicodeDecodeError as error:
        raise MigrateError(f"`{path}` is not JSON; give a report written with `--report FILE.json`") from error
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise MigrateError(f"`{path}` is not JSON ({error}); give a file written with `--report FILE.json`") from error
    if graph_record.is_record(data):
        return graph_record.read_record(data, str(path))
    return from_data(data, str(path))


def _check_schema(data: Any, origin: str) -> None:
    schema = data.get("schema") if isinstance(data, dict) else None
    if not isinstance(schema, dict) or schema.get("name") != SCHEMA[0]:
        raise MigrateError(f"`{origin}` is not a migrate report; give a file written with `--report FILE.json`")
    major = schema.get("major")
    if not isinstance(major, int) or major != SCHEMA[1]:
        newer = isinstance(major, int) and major > SCHEMA[1]
        remedy = "upgrade recmigrate" if newer else "write the report again with this version"
        raise MigrateError(f"`{origin}` has report format {major}, but this version reads format {SCHEMA[1]}; {remedy}")


def encoded(value: Any) -> Any:
    """Return data classes and what they hold as JSON has it."""
    if is_dataclass(value):
        return {item.name: encoded(getattr(value, item.name)) for item in fields(value)}
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (tuple, list)):
        return [encoded(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)  # JSON has no nan and inf; `decode` converts these strings back
    return value


def _summary(report: Report) -> dict[str, Any]:
    state, sentence = summary.verdict(report)
    findings, tables = summary.Tally.of_findings(report.findings), summary.Tally.of_tables(report.tables)
    return {
        "state": state,
        "sentence": sentence,
        "buckets": {key.value: count for key, count in summary.buckets(report).items()},
        "findings": vars(findings),
        "tables": vars(tables),
        "remaining": [
            {"finding": finding.id, "do": finding.action or finding.message} for finding in summary.remaining(report)
        ]
        + ([{"finding": "", "do": todo}] if (todo := summary.available(report)) else []),
    }
