"""Whether the text that `eval` receives may name a table."""

from __future__ import annotations

import ast
from enum import Enum

import libcst as cst

from migrate.source.flow import Constant, Member, Result, Symbol, Unknown, Value, is_none
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import SETTINGS
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import root_of, seen_values, source_of

#: Methods that create a new text from parts.
COMPOSE = {"format", "format_map", "join", "replace", "read", "readline"}
#: Sources of text that the user of the program supplies.
GIVEN = {"os.environ", "os.getenv", "os.environ.get", "sys.argv"}

#: AST nodes of a text that computes with literals only.
_PLAIN = (
    ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load,
    ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator,
)  # fmt: skip
#: Expressions that read an existing value rather than computing a new one.
PLACES = cst.Name | cst.Attribute | cst.Subscript | cst.Call


class Text(Enum):
    """What is known about an evaluated text."""

    PLAIN = "it computes with literals only"
    GIVEN = "it is an argument, an option or a setting"
    COMPOSED = "the code composes it, or it is not known"


def evaluated(file: File, call: cst.Call) -> Text:
    """Return what is known about the text that `call`, an `eval`, evaluates."""
    if len(call.args) != 1 or call.args[0].star or call.args[0].keyword is not None:
        return Text.COMPOSED
    given = call.args[0].value
    kinds = {_kind(file, value, given) for value in seen_values(file, given) if not is_none(value)}
    if Text.COMPOSED in kinds:
        return Text.COMPOSED
    return Text.GIVEN if Text.GIVEN in kinds else Text.PLAIN


def _kind(file: File, value: Value, given: cst.BaseExpression) -> Text:
    text = string(value.node) if isinstance(value, Constant) else None
    if text is not None:
        return Text.PLAIN if _is_plain(text) else Text.COMPOSED
    made = source_of(file, value, given)
    return Text.GIVEN if _is_given(file, value, made) else Text.COMPOSED


def _is_plain(text: str) -> bool:
    """True for the text of a literal, or of an expression that computes with literals only."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(isinstance(node, _PLAIN) for node in ast.walk(tree))


def _is_setting(name: str) -> bool:
    """True for a member of another module's options, such as `config.args.sizes`."""
    return any(SETTINGS.fullmatch(part) for part in name.split(".")[:-1])


def _is_given(file: File, value: Value, made: cst.BaseExpression) -> bool:
    """True for `args.x`, `params["x"]`, `conf.get("x")`, a parameter and similar sources."""
    if isinstance(made, cst.Call) and isinstance(made.func, cst.Attribute) and made.func.attr.value in COMPOSE:
        return False
    if isinstance(value, Member | Result) and isinstance(made, cst.Attribute):
        return True
    origin = root_of(value)
    if isinstance(origin, Symbol):
        return origin.name in GIVEN or _is_setting(origin.name)
    return isinstance(origin, Unknown) and isinstance(made, PLACES)
