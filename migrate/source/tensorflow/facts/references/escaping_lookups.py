"""Lookup functions that are mentioned without being called: stored, passed on, selected or replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Symbol
from migrate.source.tensorflow.base.rule_kinds import File, cached_list
from migrate.source.tensorflow.base.symbols import is_lookup
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of

#: Nodes between a value and the call that receives it as a part of an argument.
HOLDERS = (cst.Arg, cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict, cst.IfExp)


@dataclass(frozen=True)
class Loose:
    """A mention of a lookup function that is not a call."""

    node: cst.Name | cst.Attribute
    known: bool  #: harmless, since it is only given another name, under which its calls are found


@cached_list
def loose_lookups(file: File) -> Iterator[Loose]:
    """Return the mentions of lookup functions that are not calls, in source order."""
    called = {name for call, name in file.names.calls if not file.tree.imported_names(call.func)[0]}
    for node in file.names.uncalled_lookups():
        if isinstance(node, cst.Name) and file.tree.is_target(node):
            continue  # what it is bound to is reported
        if not _is_renamed(file, node):
            yield Loose(node, known=False)
        elif file.names.of(node) not in called:
            yield Loose(node, known=True)


def _is_renamed(file: File, node: cst.Name | cst.Attribute) -> bool:
    """True for the right side of `look = tf.nn.embedding_lookup`, where `look` always means that function."""
    around = file.tree.parent(node)
    targets = [one.target for one in around.targets] if isinstance(around, cst.Assign) else []
    return bool(targets) and all(isinstance(one, cst.Name) and file.names.of(one) is not None for one in targets)


def may_look_up(file: File, mention: cst.BaseExpression) -> bool:
    """True if a call with the variable at `mention` also receives a lookup function, or may itself be a lookup."""
    if not loose_lookups(file):
        return False
    for outer in file.tree.ancestors(mention):
        if isinstance(outer, cst.Call):
            return any(is_lookup(file.names.of(arg.value)) for arg in outer.args) or _may_be_lookup(file, outer.func)
        if not isinstance(outer, HOLDERS):
            break
    return False


def _may_be_lookup(file: File, func: cst.BaseExpression) -> bool:
    """True if a function may be a lookup, or the result of a call that received one."""
    flow = flow_of(file)
    values = flow.values(func)
    arguments = [arg.value for value in values if isinstance(value.node, cst.Call) for arg in value.node.args]
    values += [value for one in arguments for value in flow.values(one)]
    return any(isinstance(value, Symbol) and is_lookup(symbol_of(value)) for value in values)
