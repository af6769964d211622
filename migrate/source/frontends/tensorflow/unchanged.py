"""Whether a list, a dict or an object holds later what it held: nothing that is seen changes its contents."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.values import (
    assigned_value,
    is_fixed,
    is_target,
    local_names,
    scope_of_name,
    self_class,
)

#: Functions of Python that only read what they are given.
READERS = {
    "abs", "all", "any", "dict", "enumerate", "float", "int", "isinstance", "len", "list", "max", "min", "print",
    "range", "round", "set", "sorted", "str", "sum", "tuple", "zip",
}  # fmt: skip
#: Methods of lists and dicts that change nothing.
READS = {"copy", "count", "get", "index", "items", "keys", "values"}
#: Code that sets attributes without their names.
SETTERS = ("setattr", "__setattr__", "__setstate__")


def keeps_its_parts(file: File, size: cst.BaseExpression) -> bool:
    """True when no list or dict that `size` reads (`x["n"]`, `len(x)`) is seen to be changed, or could be unseen."""
    parts: list[cst.BaseExpression] = []
    for node in m.findall(size, m.Subscript() | m.Call()):
        if isinstance(node, cst.Subscript):
            parts.append(node.value)
        elif isinstance(node, cst.Call):
            parts += [arg.value for arg in node.args if m.matches(node.func, m.Name("len"))]
    return all(holds_the_same(file, part) for part in parts)


def holds_the_same(file: File, container: cst.BaseExpression) -> bool:
    """True for a name, or an attribute of `self`, whose contents nothing changes after it is bound."""
    mentions: list[cst.BaseExpression] = []
    if isinstance(container, cst.Name):
        scope = scope_of_name(file.tree, container)
        if scope is None:
            return False
        mentions += [*local_names(file.tree, container.value, scope), *file.tree.elsewhere(container, scope)]
    elif isinstance(container, cst.Attribute) and self_class(file.tree, container) is not None:
        mentions += file.tree.attributes[container.attr.value]
    return bool(mentions) and is_fixed(file.tree, container) and all(_only_reads(file, one) for one in mentions)


def _only_reads(file: File, node: cst.BaseExpression) -> bool:
    if is_target(file.tree, node):
        value = assigned_value(file.tree, node)
        return isinstance(file.tree.parent(node), cst.Param) or not isinstance(value, cst.Name | cst.Attribute | None)
    around = file.tree.parent(node)
    whole = node
    while isinstance(around, cst.Attribute | cst.Subscript) and around.value is whole:
        whole, around = around, file.tree.parent(around)
    if whole is not node:
        called = isinstance(around, cst.Call) and around.func is whole
        return not is_target(file.tree, whole) and not (called and not m.matches(whole, _method(READS)))
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        reader = isinstance(call, cst.Call) and m.matches(call.func, m.Name(m.MatchIfTrue(READERS.__contains__)))
        return reader or (isinstance(call, cst.Call) and file.names.of(call.func) is not None)
    return isinstance(around, cst.Comparison | cst.ComparisonTarget | cst.For | cst.CompFor | cst.Index)


def _method(names: set[str]) -> m.Attribute:
    return m.Attribute(attr=m.Name(m.MatchIfTrue(names.__contains__)))


def sets_by_text(file: File) -> bool:
    """True when some code sets attributes of objects without their names."""
    tree = file.tree
    if any(tree.names.get(name) or tree.attributes.get(name) for name in SETTERS):
        return True
    places: list[cst.BaseExpression] = [*tree.attributes.get("__dict__", ())]
    calls = [tree.parent(use) for use in tree.names.get("vars", ())]
    return not all(_only_reads(file, one) for one in (*places, *(c for c in calls if isinstance(c, cst.Call))))
