"""Texts that `eval` is given: whether they can name a table."""

from __future__ import annotations

import ast
from enum import Enum

import libcst as cst

from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import is_unseen, possible
from migrate.source.frontends.tensorflow.values import SETTINGS

#: What a text may hold that computes with plain values only.
PLAIN = (
    ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load,
    ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator,
)  # fmt: skip
#: Methods that make a new text of parts.
COMPOSE = {"format", "format_map", "join", "replace", "read", "readline"}
#: Where a text comes from that the user of the program writes.
GIVEN = {"os.environ", "os.getenv", "os.environ.get", "sys.argv"}


class Text(Enum):
    """What is known of an evaluated text."""

    PLAIN = "it computes with literals only"
    GIVEN = "it is an argument, an option or a setting"
    COMPOSED = "the code composes it, or it is not known"


def evaluated(file: File, call: cst.Call) -> Text:
    """Return what `call`, an `eval`, evaluates."""
    if len(call.args) != 1 or call.args[0].star or call.args[0].keyword is not None:
        return Text.COMPOSED
    kinds = {_kind(file, value) for value in possible(file, call.args[0].value)}
    if Text.COMPOSED in kinds:
        return Text.COMPOSED
    return Text.GIVEN if Text.GIVEN in kinds else Text.PLAIN


def _kind(file: File, value: cst.BaseExpression) -> Text:
    text = string(value)
    if text is not None:
        return Text.PLAIN if _is_plain(text) else Text.COMPOSED
    return Text.GIVEN if _is_given(file, value) else Text.COMPOSED


def _is_plain(text: str) -> bool:
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(isinstance(node, PLAIN) for node in ast.walk(tree))


def _is_setting(name: str) -> bool:
    """True for an entry of what another module names as its options, such as `config.args.sizes`."""
    return any(SETTINGS.fullmatch(part) for part in name.split(".")[:-1])


def _is_given(file: File, value: cst.BaseExpression) -> bool:
    """True for `args.x`, `params["x"]`, `conf.get("x")`, a parameter and the like."""
    if isinstance(value, cst.Subscript):
        return _is_given(file, value.value) or any(
            isinstance(one, cst.Name) and is_unseen(file, one) for one in possible(file, value.value)
        )
    imported, shadowed = file.tree.imported_names(value.func if isinstance(value, cst.Call) else value)
    if imported and not shadowed:
        return all(name in GIVEN or _is_setting(name) for name in imported)
    if isinstance(value, cst.Call) and isinstance(value.func, cst.Attribute) and value.func.attr.value in COMPOSE:
        return False
    return is_unseen(file, value)
