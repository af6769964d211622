"""What is fetched from a session by a name, which the source may not show: `sess.run(sys.argv[1])`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.flow import Bound, Class, Computed, Constant, Function, Holder, Member, Result, Symbol, Value
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, source_of
from migrate.source.tensorflow.base.visited import reached

#: Modules whose values are texts, or hold them: arguments, settings, files.
TEXTS = {"argparse", "configparser", "csv", "getopt", "io", "json", "optparse", "os", "pathlib", "sys", "yaml"}
#: Builtin functions that return texts or open files.
MAKERS = {"builtins.format", "builtins.input", "builtins.open", "builtins.raw_input", "builtins.repr", "builtins.str"}


def fetched_texts(file: File, call: cst.Call) -> Iterator[cst.BaseExpression]:
    """Yield the texts that may be fetched by `session.run(...)`: literals, and expressions that make texts."""
    first = next((arg for arg in call.args if arg.keyword is None or arg.keyword.value == "fetches"), None)
    if first is None or first.star or not _may_be_session(file, call):
        return
    flow = flow_of(file)
    for value in flow.values(first.value):
        for one in reached(value, lambda one: flow.entries(one) if isinstance(one, Holder) else []):
            if any(_is_text(part) for part in reached(one, lambda one: _operands(file, one))):
                yield source_of(file, one, first.value)


def _may_be_session(file: File, call: cst.Call) -> bool:
    """True for a method `run` of an object that neither the program nor a library other than TensorFlow makes."""
    found = flow_of(file).values(call.func)
    roots = [root_of(value) for value in found]
    own = any(isinstance(value, Function | Bound | Class) for value in found)
    return not own and not any(isinstance(one, Symbol) and canonical(one.name) is None for one in roots)


def _is_text(value: Value) -> bool:
    """True for a literal string, and for a value of an argument, a setting or a file."""
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
    """Return the values of which an operator may make a text: of a sum, the texts that are written and further sums."""
    root, flow = root_of(value), flow_of(file)
    node = root.node if isinstance(root, Computed) else None
    if isinstance(node, cst.Subscript):
        return flow.values(node.value)
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        return flow.values(node.left)
    if isinstance(node, cst.AugAssign):
        sides = [*flow.values(node.target), *flow.values(node.value)]
    elif isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Add):
        sides = [*flow.values(node.left), *flow.values(node.right)]
    else:
        return []
    sums = cst.BinaryOperation | cst.AugAssign
    return [one for one in sides if isinstance(root_of(one), Constant) or isinstance(root_of(one).node, sums)]
