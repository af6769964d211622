"""The part of JSON Schema that our schemas use, as a check: what is wrong with data, and where."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_TYPES: dict[str, Any] = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
    "null": type(None),
}
_KNOWN = {"$schema", "$defs", "$ref", "title", "type", "properties", "required", "additionalProperties", "items"}
_KNOWN |= {"prefixItems", "minItems", "maxItems", "uniqueItems", "enum", "const", "anyOf", "minimum", "minLength"}
_KNOWN |= {"pattern"}


def problems(schema: dict[str, Any], data: Any, whole: dict[str, Any] | None = None, at: str = "$") -> Iterator[str]:
    """Yield what in the data is not as the schema says; raises AssertionError for a keyword that is not checked."""
    assert set(schema) <= _KNOWN, f"unknown keywords at {at}: {set(schema) - _KNOWN}"
    whole = schema if whole is None else whole
    if "$ref" in schema:
        yield from problems(whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], data, whole, at)
    kind = schema.get("type")
    if kind and (not isinstance(data, _TYPES[kind]) or (isinstance(data, bool) and kind != "boolean")):
        yield f"{at}: {data!r} is no {kind}"
        return
    if "enum" in schema and data not in schema["enum"]:
        yield f"{at}: {data!r} is none of {schema['enum']}"
    if "const" in schema and data != schema["const"]:
        yield f"{at}: {data!r} is not {schema['const']!r}"
    if "anyOf" in schema and all(list(problems(one, data, whole, at)) for one in schema["anyOf"]):
        yield f"{at}: {data!r} is as none of the forms says"
    if isinstance(data, int) and data < schema.get("minimum", data):
        yield f"{at}: {data} is less than {schema['minimum']}"
    if isinstance(data, str):
        if len(data) < schema.get("minLength", 0):
            yield f"{at}: is too short"
        if "pattern" in schema and not re.search(schema["pattern"], data):
            yield f"{at}: {data!r} does not match {schema['pattern']}"
    if isinstance(data, dict):
        yield from _object(schema, data, whole, at)
    if isinstance(data, list):
        yield from _array(schema, data, whole, at)


def _object(schema: dict[str, Any], data: dict[str, Any], whole: dict[str, Any], at: str) -> Iterator[str]:
    known = schema.get("properties", {})
    yield from (f"{at}: has no `{name}`" for name in schema.get("required", ()) if name not in data)
    others = schema.get("additionalProperties", True)
    for name, value in data.items():
        if name in known:
            yield from problems(known[name], value, whole, f"{at}.{name}")
        elif others is False:
            yield f"{at}: must not have `{name}`"
        elif others is not True:
            yield from problems(others, value, whole, f"{at}.{name}")


def _array(schema: dict[str, Any], data: list[Any], whole: dict[str, Any], at: str) -> Iterator[str]:
    if not schema.get("minItems", 0) <= len(data) <= schema.get("maxItems", len(data)):
        yield f"{at}: has {len(data)} items"
    if schema.get("uniqueItems") and any(one in data[:place] for place, one in enumerate(data)):
        yield f"{at}: has equal items"
    first = schema.get("prefixItems", [])
    for place, item in enumerate(data):
        wanted = first[place] if place < len(first) else schema.get("items")
        if wanted is not None:
            yield from problems(wanted, item, whole, f"{at}[{place}]")
