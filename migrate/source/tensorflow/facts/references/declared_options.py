"""Options of the command line whose default is the text of a literal: `add_argument("--sizes", default="[64, 64]")`.

Such a default says what the text of the option is: a value that the program reads with `eval`, not code.
"""

from __future__ import annotations

import ast
import re

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Holder, Member, Result, Symbol, Value
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import string
from migrate.source.tensorflow.base.bindings import is_target, self_class
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of
from migrate.source.tensorflow.facts.calls.callers import last_name

#: AST nodes of a text that computes with literals only.
PLAIN = (
    ast.Expression, ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.Load,
    ast.UnaryOp, ast.BinOp, ast.unaryop, ast.operator,
)  # fmt: skip
#: Code that sets an option without naming it as an attribute.
SETTERS = ("setattr", "set_default", "set_defaults", "vars", "__dict__", "__setattr__")
FLAGS = re.compile(r"(absl|tensorflow(\.compat\.v1)?(\.app)?)\.flags\.FLAGS\.(?P<name>\w+)")
PARSERS = {"argparse.ArgumentParser"}
#: Keywords of `add_argument` that leave the option the text that was given.
KEYWORDS = {"default", "help", "nargs", "type", "metavar", "required"}
_GIVEN_ARGUMENTS = m.Subscript(value=m.Attribute(value=m.Name("sys"), attr=m.Name("argv")))


def is_plain(text: str) -> bool:
    """True for the text of a literal, or of an expression that computes with literals only."""
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return False
    return all(isinstance(node, PLAIN) for node in ast.walk(tree))


def is_declared(file: File, value: Value, given: cst.BaseExpression) -> bool:
    """True for an option all of whose declarations have the text of a literal as default, and that no code sets.

    `given`, the expression that is evaluated, must have its name: by that name other files of the program are searched
    for code that sets it (`option_files.declaring`).
    """
    name = _option(value)
    named = m.matches(given, m.Attribute(attr=m.Name(name)))
    return bool(name) and named and name in once(file, ("declared options",), lambda: _declared(file))


def _option(value: Value) -> str:
    """Return the name of the option that a value is: an attribute of what a parser returned, or of the flags."""
    if isinstance(value, Symbol):
        found = FLAGS.fullmatch(value.name)
        return found["name"] if found is not None else ""
    made, parse = (value.base, "parse_args") if isinstance(value, Member) else (value, "")
    if isinstance(made, Member) and made.name == "[]" and made.key == 0:
        made, parse = made.base, "parse_known_args"  # the first of two results
    if not isinstance(value, Member) or not isinstance(made, Result) or not isinstance(made.callee, Member):
        return ""
    root = root_of(made)
    parsed = made.callee.name == parse and isinstance(root, Symbol) and root.name in PARSERS
    return value.name if parsed else ""


def _declared(file: File) -> frozenset[str]:
    """Return the names of the options that are texts of literals in every run of the program."""
    if any(_sets_unseen(one.tree) for one in file.files):
        return frozenset()
    found: dict[str, bool] = {}
    for call in (call for one in file.files for call in one.tree.calls):
        names, plain = _declaration(call)
        found.update({name: plain and found.get(name, True) for name in names})
    return frozenset(
        name for name, plain in found.items() if plain and not any(_is_set(one, name) for one in file.files)
    )


def _declaration(call: cst.Call) -> tuple[list[str], bool]:
    """Return the names that a declaration gives an option, and whether its default is the text of a literal."""
    made = call.func.attr.value if isinstance(call.func, cst.Attribute) else last_name(call.func)
    if made.startswith("DEFINE_"):
        named = [name for arg in call.args[:1] if (name := string(arg.value)) is not None]
        default = call.args[1].value if len(call.args) > 1 and call.args[1].keyword is None else None
        return named, made == "DEFINE_string" and _is_literal(default)
    if made != "add_argument":
        return [], False
    keywords = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    texts = [string(arg.value) for arg in call.args if arg.keyword is None and not arg.star]
    known = [text.lstrip("-").replace("-", "_") for text in texts if text is not None]
    kept = len(known) == len(call.args) - len(keywords) and keywords.keys() <= KEYWORDS
    other = [name for name in (string(keywords.get("dest")),) if name is not None]
    return [*known, *other], kept and _is_text(keywords) and _is_literal(keywords.get("default"))


def _is_text(keywords: dict[str, cst.BaseExpression]) -> bool:
    """True for an option that keeps one text: neither converted nor a list."""
    made, count = keywords.get("type"), keywords.get("nargs")
    return (made is None or m.matches(made, m.Name("str"))) and (count is None or string(count) == "?")


def _is_literal(default: cst.BaseExpression | None) -> bool:
    text = string(default)
    return text is not None and is_plain(text)


def _is_set(file: File, name: str) -> bool:
    """True if an attribute of that name is set, other than of an object of the program's own classes."""
    return any(
        is_target(file.tree, node) and self_class(file.tree, node) is None and not _is_own(file, node.value)
        for node in file.tree.attributes.get(name, ())
    )


def _is_own(file: File, node: cst.BaseExpression) -> bool:
    values = flow_of(file).values(node)
    return bool(values) and all(isinstance(value, Holder) for value in values)


def _sets_unseen(tree: Tree) -> bool:
    """True if the code may write texts of options by other ways than as attributes."""
    if any(tree.names.get(word) or tree.attributes.get(word) for word in SETTERS):
        return True
    argv = (*tree.attributes.get("argv", ()), *tree.names.get("argv", ()))
    return any(_is_changed(tree, node) for node in argv) or not all(_reads_command_line(call) for call in tree.calls)


def _is_changed(tree: Tree, argv: cst.CSTNode) -> bool:
    """True where `sys.argv`, or an entry of it, is assigned, or a method of it is called."""
    around = tree.parent(argv)
    called = isinstance(around, cst.Attribute) and around.value is argv
    entry = isinstance(around, cst.Subscript) and is_target(tree, around)
    return called or entry or is_target(tree, argv)


def _reads_command_line(call: cst.Call) -> bool:
    """False for a call that parses texts which the program gives: `parse_args(["--sizes", text])`."""
    made = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
    if made not in {"parse_args", "parse_known_args"} or not call.args:
        return True
    return len(call.args) == 1 and m.matches(call.args[0], m.Arg(value=_GIVEN_ARGUMENTS, keyword=None))
