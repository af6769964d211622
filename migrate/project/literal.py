"""Values of a schema as Python text, laid out as formatters do it."""

from __future__ import annotations

import json

WIDTH = 88


def literal(name: str, value: object) -> str:
    """Return the text of `value` for the line `name = value`: one line, or one for each item where that is long."""
    return _laid_out(value, len(name) + 3, 0)


def _laid_out(value: object, used: int, indent: int) -> str:
    flat = _flat(value)
    if not isinstance(value, list | dict) or not value or used + len(flat) <= WIDTH:
        return flat
    inner = " " * (indent + 4)
    if isinstance(value, dict):
        items = [f"{_flat(key)}: " for key in value]
        items = [
            lead + _laid_out(item, indent + 5 + len(lead), indent + 4)
            for lead, item in zip(items, value.values(), strict=True)
        ]
        opened, closed = "{", "}"
    else:
        items = [_laid_out(item, indent + 5, indent + 4) for item in value]
        opened, closed = "[", "]"
    lines = "".join(f"{inner}{item},\n" for item in items)
    return f"{opened}\n{lines}{' ' * indent}{closed}"


def _flat(value: object) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[{', '.join(map(_flat, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{_flat(key)}: {_flat(item)}' for key, item in value.items())}}}"
    return repr(value)
