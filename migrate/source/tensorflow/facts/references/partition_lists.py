"""Lists of variables as the table of one lookup: their members are partitions, over which the ids are spread."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Holder, Symbol, Value, ValueFlow
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File

#: Lookup functions whose table may be a list of partitions.
LOOKUPS = {"nn.embedding_lookup"}
#: Builtins that create lists.
_MAKERS = {"builtins.list", "builtins.sorted"}


def looks_up_partitions(file: File, node: cst.BaseExpression) -> bool:
    """True for a list of variables that is the table of a lookup, unless it is written there as a display."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
    written = isinstance(node, cst.List) and all(isinstance(one, cst.Element) for one in node.elements)
    if written or not isinstance(call, cst.Call) or file.names.of(call.func) not in LOOKUPS:
        return False
    keyword = arg.keyword.value if isinstance(arg, cst.Arg) and arg.keyword is not None else ""
    return keyword == "params" or (call.args[0] is arg and not keyword)


def is_list(flow: ValueFlow, value: Value) -> bool:
    """True for a list; TensorFlow would convert a tuple to a single tensor."""
    pending, seen = [value], set[Value]()
    while pending:
        one = pending.pop()
        if one in seen:
            continue
        seen.add(one)
        node = one.node
        if not isinstance(one, Holder) or one.kind != "list":
            return False
        if isinstance(node, cst.BinaryOperation):
            sides = [*flow.values(node.left), *flow.values(node.right)]
            pending += [held for held in sides if isinstance(held, Holder)]
        elif isinstance(node, cst.Subscript):
            pending += flow.values(node.value)
        elif isinstance(node, cst.Call):
            made = flow.values(node.func)
            if not made or not all(isinstance(name, Symbol) and name.name in _MAKERS for name in made):
                return False
        elif not isinstance(node, cst.List | cst.ListComp):
            return False
    return True


def is_partitions(file: File, node: cst.BaseExpression) -> bool:
    """True for a list of variables that was recorded as being looked up as partitions."""
    return id(node) in partitions(file)


def partitions(file: File) -> set[int]:
    """Return the ids of the lists recorded as being looked up as partitions. Callers add to the set."""
    known: set[int] = once(file, ("partitions",), set)
    return known
