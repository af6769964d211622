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
from migrate.source.tensorflow.base.bindings import builtin, is_target, self_class
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
#: Functions and methods that declare an option, which the program may also hand on.
DECLARERS = ("add_argument", "DEFINE_string")
#: Attributes of a declared option that hold its text.
TEXTS = ("default", "value")
_NAMED_ARGV = m.Arg(keyword=m.Name("argv"))
_COMMAND_LINE = m.Attribute(value=m.Name("sys"), attr=m.Name("argv"))
_GIVEN_ARGUMENTS = m.Subscript(value=_COMMAND_LINE)


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
    if any(_sets_unseen(one) or any(_is_set(one, text) for text in TEXTS) for one in file.files):
        return frozenset()
    found: dict[str, bool] = {}
    for tree, call in ((one.tree, call) for one in file.files for call in one.tree.calls):
        names, plain = _declaration(tree, call)
        if names is None:
            return frozenset()
        found.update({name: plain and found.get(name, True) for name in names})
    return frozenset(
        name for name, plain in found.items() if plain and not any(_is_set(one, name) for one in file.files)
    )


def _declaration(tree: Tree, call: cst.Call) -> tuple[list[str] | None, bool]:
    """Return the names that a declaration gives an option, and whether its default is the text of a literal.

    Without names, it may declare any option.
    """
    made = call.func.attr.value if isinstance(call.func, cst.Attribute) else last_name(call.func)
    if made.startswith("DEFINE_"):
        name = string(call.args[0].value) if call.args and not call.args[0].star else None
        default = call.args[1].value if len(call.args) > 1 and call.args[1].keyword is None else None
        return None if name is None else [name], made == "DEFINE_string" and _is_literal(default)
    if made != "add_argument":
        return [], False
    keywords = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
    texts = [string(arg.value) for arg in call.args if arg.keyword is None and not arg.star]
    known = [text.lstrip("-").replace("-", "_") for text in texts if text is not None]
    if len(known) < len(call.args) - len(keywords):
        return None, False
    kept = keywords.keys() <= KEYWORDS
    other = [name for name in (string(keywords.get("dest")),) if name is not None]
    return [*known, *other], kept and _is_text(tree, keywords) and _is_literal(keywords.get("default"))


def _is_text(tree: Tree, keywords: dict[str, cst.BaseExpression]) -> bool:
    """True for an option that keeps one text: neither converted nor a list."""
    made, count = keywords.get("type"), keywords.get("nargs")
    return (made is None or builtin(tree, made) == "str") and (count is None or string(count) == "?")


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


def _sets_unseen(file: File) -> bool:
    """True if the code may write texts of options by other ways than as attributes."""
    tree = file.tree
    if any(tree.names.get(word) or tree.attributes.get(word) for word in SETTERS):
        return True
    handed = (node for word in DECLARERS for node in (*tree.attributes.get(word, ()), *tree.names.get(word, ())))
    if not all(_is_called(tree, node) for node in handed):
        return True
    argv = (*tree.attributes.get("argv", ()), *tree.names.get("argv", ()))
    return any(_is_changed(file, node) for node in argv) or not all(
        _reads_command_line(file, call) for call in tree.calls
    )


def _is_called(tree: Tree, node: cst.CSTNode) -> bool:
    """True for `parser.add_argument(...)`, and for the import of such a function."""
    around = tree.parent(node)
    member = isinstance(around, cst.Attribute) and around.attr is node
    return isinstance(around, cst.ImportAlias) or member or (isinstance(around, cst.Call) and around.func is node)


def _is_changed(file: File, argv: cst.CSTNode) -> bool:
    """True where `sys.argv` may be changed: all is fine that reads an entry or a part of it, or its length."""
    tree, around = file.tree, file.tree.parent(argv)
    if isinstance(around, cst.ImportAlias) or (isinstance(around, cst.Attribute) and around.attr is argv):
        return False
    if isinstance(around, cst.Subscript):
        return around.value is not argv or is_target(tree, around)
    call = tree.parent(around) if isinstance(around, cst.Arg) else None
    if not isinstance(call, cst.Call):
        return True
    return last_name(call.func) not in {"len", "print", "run"} and not _is_flags(file, call.func)


def _reads_command_line(file: File, call: cst.Call) -> bool:
    """False for a call that parses texts which the program gives: `parse_args(["--sizes", text])`, `FLAGS(texts)`."""
    made = last_name(call.func)
    if made == "run" or (len(call.args) == 1 and _is_flags(file, call.func)):
        given = [one for one in call.args if made != "run" or m.matches(one, _NAMED_ARGV)]
        return all(m.matches(one.value, _COMMAND_LINE) for one in given)
    if made not in {"parse_args", "parse_known_args"} or not call.args:
        return True
    return len(call.args) == 1 and m.matches(call.args[0], m.Arg(value=_GIVEN_ARGUMENTS, keyword=None))


def _is_flags(file: File, node: cst.BaseExpression) -> bool:
    return any(isinstance(one, Symbol) and one.name.endswith("flags.FLAGS") for one in flow_of(file).values(node))
