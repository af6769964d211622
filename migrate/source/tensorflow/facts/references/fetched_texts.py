"""What is fetched from a session by a name, which the source may not show: `sess.run(sys.argv[1])`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import (
    Bound,
    Class,
    Computed,
    Constant,
    Function,
    Holder,
    Member,
    Result,
    Symbol,
    Unknown,
    Value,
)
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, source_of, symbol_of
from migrate.source.tensorflow.base.visited import reached

#: Modules whose values are texts, or hold them: arguments, settings, files.
TEXTS = {"argparse", "configparser", "csv", "getopt", "io", "json", "optparse", "os", "pathlib", "sys", "yaml"}
#: Builtin functions that return texts or open files.
MAKERS = {"builtins.format", "builtins.input", "builtins.open", "builtins.raw_input", "builtins.repr", "builtins.str"}

#: Functions of TensorFlow that give texts, numbers or files of Python.
PLAIN = re.compile(r"((io\.)?gfile|app|flags|compat|sysconfig|version|python_io|train\.\w*checkpoint\w*)\b")

#: How many sums of sums are looked into.
_DEPTH = 8


def fetched_texts(file: File, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield the texts that may be fetched by `session.run(...)`: literals, and expressions that make texts."""
    first = next((arg for arg in call.args if arg.keyword is None or arg.keyword.value == "fetches"), None)
    if first is None or first.star or not _may_be_session(file, call):
        return
    flow = flow_of(file)
    for value in flow.values(first.value):
        for one in reached(value, lambda one: flow.entries(one) if isinstance(one, Holder) else []):
            if _is_text(file, one):
                yield source_of(file, one, first.value)


def _may_be_session(file: File, call: cst.Call) -> bool:
    """True for a method `run` of an object that neither the program nor a library other than TensorFlow makes."""
    found = flow_of(file).values(call.func)
    roots = [root_of(value) for value in found]
    own = any(isinstance(value, Function | Bound | Class) for value in found)
    return not own and not any(isinstance(one, Symbol) and canonical(one.name) is None for one in roots)


def _is_text(file: File, value: Value) -> bool:
    """True for a literal string, for one that is put together, and for a value of an argument, a setting or a file."""
    return any(_makes_text(one) for one in reached(value, lambda one: _operands(file, one)))


def _makes_text(value: Value) -> bool:
    """True for a value that is a text, or makes the result of an operator one; a list of names gives a name, too."""
    root = root_of(value)
    if isinstance(root, Constant):
        return isinstance(root.node, cst.BaseString) and _has_attributes(value)
    if not isinstance(root, Symbol):
        return False
    module, _, rest = root.name.partition(".")
    return root.name in MAKERS or module in TEXTS or "flags" in rest.split(".")


def _has_attributes(value: Value) -> bool:
    """False for an attribute of a text that texts do not have: it is that of another object which comes there, too."""
    while isinstance(value, Member | Result):
        inner = value.base if isinstance(value, Member) else value.callee
        if isinstance(value, Member) and isinstance(inner, Constant) and not hasattr(str, value.name):
            return False
        value = inner
    return True


def _operands(file: File, value: Value) -> list[Value]:
    """Return the values of which an operator may make a text: of `%` the left one, of `+` none if one is no text."""
    root = root_of(value)
    node = root.node if isinstance(root, Computed) else None
    flow = flow_of(file)
    if isinstance(node, cst.Subscript):
        return flow.values(node.value)
    if isinstance(node, cst.AugAssign):  # of `loss += rate * term` no operand is a text that is written out
        written = [*flow.values(node.target), *flow.values(node.value)]
        return [one for one in written if isinstance(root_of(one), Constant)]
    if not isinstance(node, cst.BinaryOperation):
        return []
    sides = [flow.values(node.left), flow.values(node.right)]
    if isinstance(node.operator, cst.Modulo):
        return sides[0]
    repeats = isinstance(node.operator, cst.Multiply) and not any(_is_no_count(one) for one in sides)
    joins = repeats or (isinstance(node.operator, cst.Add) and not _adds(file, sides))
    return [*sides[0], *sides[1]] if joins else []


def _is_no_count(side: list[Value]) -> bool:
    """True for tensors and quotients: neither a text, nor a number of times that a text is repeated."""
    return bool(side) and all(_divides(root_of(value).node) or _is_tensor(value) for value in side)


def _divides(node: cst.CSTNode | None) -> bool:
    return isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide)


def _is_tensor(value: Value) -> bool:
    """True for what a function of TensorFlow returns, but for the functions that give texts or numbers of Python."""
    name = symbol_of(value) if isinstance(value, Result) else None
    return name is not None and PLAIN.match(name) is None


def _adds(file: File, sides: list[list[Value]], depth: int = _DEPTH) -> bool:
    """True if `+` adds numbers, as one of its sides cannot be a text or a list of texts."""
    return any(side and all(_is_number(file, one, depth) for one in side) for side in sides)


def _is_number(file: File, value: Value, depth: int) -> bool:
    """True for a value to which no text can be added: a number, None, a tensor, or what an operator makes of these."""
    root, flow = root_of(value), flow_of(file)
    if isinstance(root, Constant):
        return not isinstance(root.node, cst.BaseString)
    if isinstance(root, Symbol):
        name = canonical(root.name)
        return isinstance(value, Result) and name is not None and PLAIN.match(name) is None
    # An operator of an unknown operand gives an unknown value, too; both have the operator's expression.
    node = root.node if isinstance(root, Computed | Unknown) else None
    if not isinstance(node, cst.BinaryOperation):
        return isinstance(root, Computed) and isinstance(node, cst.UnaryOperation | cst.Comparison)
    if isinstance(node.operator, cst.Add):
        return depth > 0 and _adds(file, [flow.values(node.left), flow.values(node.right)], depth - 1)
    return not isinstance(node.operator, cst.Multiply | cst.Modulo)
