"""Texts that run as code: whether that of an `eval` may name a table, and where statements are executed."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Member, Result, Symbol, Unknown, Value, is_none
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.bindings import SETTINGS
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import root_of, seen_values, source_of

#: Methods that create a new text from parts.
COMPOSE = {"format", "format_map", "join", "replace", "read", "readline"}
#: Sources of text that the user of the program supplies.
GIVEN = {"os.environ", "os.getenv", "os.environ.get", "sys.argv"}

#: Expressions that read an existing value rather than computing a new one.
PLACES = cst.Name | cst.Attribute | cst.Subscript | cst.Call


def executes(tree: Tree, node: cst.CSTNode) -> bool:
    """True for a use of `exec`, which runs statements, unlike `eval`."""
    func = node.func if isinstance(node, cst.Call) else node
    return isinstance(func, (cst.Name, cst.Attribute)) and tree.qualified_names(func) == {"builtins.exec"}


def evaluates_given_text(file: File, call: cst.Call) -> bool:
    """True for an `eval` of an argument, an option or a setting; not of a text that the code composes."""
    if len(call.args) != 1 or call.args[0].star or call.args[0].keyword is not None:
        return False
    argument = call.args[0].value
    values = [value for value in seen_values(file, argument) if not is_none(value)]
    return bool(values) and all(_is_given(file, value, source_of(file, value, argument)) for value in values)


def _is_setting(name: str) -> bool:
    """True for a member of another module's options, such as `config.args.sizes`."""
    return any(SETTINGS.fullmatch(part) for part in name.split(".")[:-1])


def _is_given(file: File, value: Value, source: cst.BaseExpression) -> bool:
    """True for `args.x`, `params["x"]`, `conf.get("x")`, a parameter and similar sources."""
    if isinstance(source, cst.Call) and isinstance(source.func, cst.Attribute) and source.func.attr.value in COMPOSE:
        return False
    if isinstance(value, (Member, Result)) and isinstance(source, cst.Attribute):
        return True
    origin = root_of(value)
    if isinstance(origin, Symbol):
        return origin.name in GIVEN or _is_setting(origin.name)
    return isinstance(origin, Unknown) and isinstance(source, PLACES)
