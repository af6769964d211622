"""The JSON Schema of a report, made of the data classes that write it and read it back."""

from __future__ import annotations

import json
import types
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from typing import Any, Union, get_args, get_origin, get_type_hints

from migrate.report import summary
from migrate.report.model import SCHEMA, Report
from migrate.report.serialize import KEYS, LATER, PARTS

_SCALARS = {str: {"type": "string"}, int: {"type": "integer"}, bool: {"type": "boolean"}}
#: JSON has no nan and no infinity: they are written as text.
_FLOAT = {"anyOf": [{"type": "number"}, {"enum": ["nan", "inf", "-inf"]}]}


def schema() -> dict[str, Any]:
    """Return the schema; additional keys are allowed, because later minor versions add some."""
    name, major, _ = SCHEMA
    definitions: dict[str, Any] = {}
    hints = get_type_hints(Report)
    parts = {KEYS.get(part, part): _of(hints[part], definitions) for part in PARTS}
    tally = _object({name: {"type": "integer"} for name in get_type_hints(summary.Tally)})
    properties = {
        "schema": _object(
            {"name": {"const": name}, "major": {"const": major}, "minor": {"type": "integer", "minimum": 0}}
        ),
        "tool": _object({"name": {"type": "string"}, "version": {"type": "string"}}),
        "command": {"type": "string"},
        "summary": _object(
            {
                "state": {"enum": ["ok", "work", "blocked", "failed"]},
                "sentence": {"type": "string"},
                "buckets": _object({bucket.value: {"type": "integer"} for bucket in summary.Bucket}),
                "findings": tally,
                "tables": tally,
            },
            {
                "remaining": {
                    "type": "array",
                    "items": _object({"finding": {"type": "string"}, "do": {"type": "string"}}),
                }
            },
        ),
        **parts,
        "environment": {"type": "object", "additionalProperties": {"type": "string"}},
    }
    required = [key for key in properties if key not in LATER]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": f"recmigrate report, format {major}",
        "type": "object",
        "properties": properties,
        "required": required,
        "$defs": definitions,
    }


def schema_of(kind: type) -> dict[str, Any]:
    """Return the schema of what is written of a data class as it is."""
    definitions: dict[str, Any] = {}
    return _of(kind, definitions) | {"$defs": definitions}


def text() -> str:
    """Return the schema as JSON text."""
    return json.dumps(schema(), indent=1) + "\n"


def _object(properties: dict[str, Any], later: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the schema of an object; `later` are properties that earlier minor versions do not have."""
    return {"type": "object", "properties": properties | (later or {}), "required": list(properties)}


def _of(kind: Any, definitions: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a type; data classes and enumerations get a definition of their own."""
    if get_origin(kind) is tuple:
        arms = get_args(kind)
        if arms[1:] == (Ellipsis,):
            return {"type": "array", "items": _of(arms[0], definitions)}
        return {
            "type": "array",
            "prefixItems": [_of(arm, definitions) for arm in arms],
            "minItems": len(arms),
            "maxItems": len(arms),
        }
    if get_origin(kind) in {Union, types.UnionType}:
        return {"anyOf": [{"type": "null"} if arm is type(None) else _of(arm, definitions) for arm in get_args(kind)]}
    if kind is float:
        return _FLOAT
    if kind in _SCALARS:
        return _SCALARS[kind]
    if kind.__name__ not in definitions:
        definitions[kind.__name__] = {}  # so that a type that contains itself ends
        definitions[kind.__name__] = _definition(kind, definitions)
    return {"$ref": f"#/$defs/{kind.__name__}"}


def _definition(kind: type, definitions: dict[str, Any]) -> dict[str, Any]:
    if issubclass(kind, Enum):
        return {"enum": [member.value for member in kind]}
    assert is_dataclass(kind), kind
    hints = get_type_hints(kind)
    definition = _object({item.name: _of(hints[item.name], definitions) for item in fields(kind)})
    needed = [item.name for item in fields(kind) if item.default is MISSING and item.default_factory is MISSING]
    return definition | {"required": needed}
