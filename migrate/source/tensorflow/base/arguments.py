"""Binds the arguments of a call to parameter names, and reads literals."""

from __future__ import annotations

import ast
from collections.abc import Collection, Mapping, Sequence
from functools import lru_cache

import libcst as cst


def bind(call: cst.Call, parameters: Sequence[str]) -> dict[str, cst.Arg] | None:
    """Map parameter names to arguments; None if starred, repeated or unknown arguments prevent that."""
    bound: dict[str, cst.Arg] = {}
    for position, arg in enumerate(call.args):
        if arg.star or (arg.keyword is None and position >= len(parameters)):
            return None
        name = arg.keyword.value if arg.keyword else parameters[position]
        if name not in parameters or name in bound:
            return None
        bound[name] = arg
    return bound


def argument(call: cst.Call, name: str, position: int | None = None) -> cst.Arg | None:
    """Return the argument for a parameter, by its name or position; None where a starred one may contain it."""
    for at, arg in enumerate(call.args):
        if arg.star:
            return None
        if arg.keyword.value == name if arg.keyword is not None else at == position:
            return arg
    return None


def given_argument(call: cst.Call, name: str, position: int | None = None) -> cst.BaseExpression | None:
    """Return the value of the same argument."""
    arg = argument(call, name, position)
    return arg.value if arg is not None else None


def keyword(arg: cst.Arg) -> str:
    """Return the keyword of an argument; empty for one that has none."""
    return arg.keyword.value if arg.keyword is not None else ""


def by_keyword(call: cst.Call, name: str) -> cst.Arg | None:
    """Return the argument that a call has by this keyword, or None."""
    return next((arg for arg in call.args if keyword(arg) == name), None)


def last_name(node: cst.CSTNode) -> str:
    """Return the last part of a dotted name; empty for other expressions."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def method_of(call: cst.Call) -> str:
    """Return the name of the called method; empty for a call of a function."""
    return call.func.attr.value if isinstance(call.func, cst.Attribute) else ""


@lru_cache(maxsize=100_000)  # checks compare each string of a program with many names
def _text(token: str) -> str | bytes:
    """Return the value of a string's token, with its quotes and prefix."""
    value: str | bytes = ast.literal_eval(token)
    return value


def literal(node: cst.CSTNode | None) -> object:
    """Return the value of a literal expression, or Ellipsis if it is not a literal."""
    if node is None or isinstance(node, (cst.Attribute, cst.Subscript, cst.Lambda)):
        return ...
    if isinstance(node, cst.Name) and node.value not in {"True", "False", "None"}:
        return ...
    if isinstance(node, cst.SimpleString):
        return _text(node.value)
    try:
        value: object = ast.literal_eval(cst.Module(body=[]).code_for_node(node).strip())
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        return ...
    return value


def number(node: cst.CSTNode | None) -> float | int | None:
    """Return the number that a literal expression denotes, or None."""
    value = literal(node)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def string(node: cst.CSTNode | None) -> str | None:
    """Return the value of a string literal, or None."""
    value = literal(node)
    return value if isinstance(value, str) else None


def is_name(node: cst.CSTNode, name: str) -> bool:
    """True for a plain name."""
    return isinstance(node, cst.Name) and node.value == name


def is_graph_key(node: cst.CSTNode) -> bool:
    """True for a key of a graph's collections, however the module is named: `tf.GraphKeys.LOSSES`."""
    return (
        isinstance(node, cst.Attribute)
        and isinstance(node.value, cst.Attribute)
        and node.value.attr.value == "GraphKeys"
    )


def is_none(arg: cst.Arg | None) -> bool:
    """True if the argument is absent or the literal None."""
    return arg is None or (isinstance(arg.value, cst.Name) and arg.value.value == "None")


def dropped(arguments: Mapping[str, cst.Arg], carried: Collection[str]) -> tuple[str, ...]:
    """Return the names of arguments that are given, are not None, and are not in `carried`."""
    return tuple(name for name, arg in arguments.items() if name not in carried and not is_none(arg))


def without(names: Collection[str], whose: str = "a table") -> str:
    """Return the note that arguments were dropped, or an empty string if there are none."""
    listed = " and ".join(f"`{name}`" for name in sorted(names))
    return f"{listed} {'are' if len(names) > 1 else 'is'} dropped: {whose} has nothing of the kind" if names else ""
