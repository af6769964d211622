"""The key of an entry access: a literal, a string with a known prefix or suffix, or unknown."""

from __future__ import annotations

import re
from collections.abc import Callable

import libcst as cst

from migrate.source.flow.program import Program
from migrate.source.flow.values import ANY, Computed, Constant, Pattern, Value

_FORMAT = re.compile(r"%[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]|%\(\w+\)[-#0 +]*\d*(?:\.\d+)?[a-zA-Z]")


def literal(node: cst.CSTNode | None) -> object:
    """Return the value of a literal; ANY for other expressions, including negative indices."""
    if isinstance(node, (cst.SimpleString, cst.ConcatenatedString)):
        value = node.evaluated_value
        return value if value is not None else ANY
    if isinstance(node, cst.Integer):
        return node.evaluated_value
    if isinstance(node, cst.Name) and node.value in {"True", "False", "None"}:
        return {"True": True, "False": False, "None": None}[node.value]
    return ANY


def pattern(node: cst.CSTNode | None) -> object:
    """Return the known prefix and suffix of a formatted or concatenated string; ANY if neither is known."""
    parts = _parts(node)
    if parts is None or len(parts) < 2 or not (parts[0] or parts[-1]):
        return ANY
    return Pattern(parts[0], parts[-1])


def _parts(node: cst.CSTNode | None) -> list[str] | None:
    """Return the constant pieces of a string expression, with both ends; None if it is not supported."""
    if isinstance(node, cst.BinaryOperation):
        whole = literal(node.left)
        if isinstance(node.operator, cst.Modulo) and isinstance(whole, str):
            return _FORMAT.split(whole) if "%%" not in whole else None
        if isinstance(node.operator, cst.Add):
            last = literal(node.right)
            first = whole if isinstance(whole, str) else (_parts(node.left) or [""])[0]
            return [first, last if isinstance(last, str) else (_parts(node.right) or [""])[-1]]
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "format":
        whole = literal(node.func.value)
        return re.split(r"\{[^{}]*\}", whole) if isinstance(whole, str) and "{{" not in whole else None
    if isinstance(node, cst.FormattedString) and not node.start.lower().startswith(("rf", "fr")):
        texts = [one.value if isinstance(one, cst.FormattedStringText) else None for one in node.parts]
        if any(text is not None and ("\\" in text or "{{" in text or "}}" in text) for text in texts):
            return None
        ends = (texts[0] or "", texts[-1] or "") if texts else ("", "")
        return [ends[0], ends[1]] if any(text is None for text in texts) else None
    return None


def with_key(program: Program, node: cst.BaseExpression, act: Callable[[object], None]) -> None:
    """Call `act` once with each key that the expression may evaluate to."""
    known = literal(node)
    variable = program.moved(node)
    if known is not ANY:
        act(known)
        return

    done: set[tuple[type, object]] = set()  # with the type, because 1 equals True

    def arrived(value: Value) -> None:
        key: object = ANY
        if isinstance(value, Constant):
            key = literal(value.node)
        elif isinstance(value, Computed):
            key = pattern(value.node)
        typed_key = (type(key), key)
        if typed_key not in done:
            done.add(typed_key)
            act(key)

    shape = pattern(node)
    if shape is not ANY:
        act(shape)
    else:
        program.graph.watch(variable, arrived)
