"""Lookup functions that are mentioned without being called: stored, passed on, selected or replaced."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow import Symbol
from migrate.source.tensorflow.base.bindings import is_target
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import is_lookup
from migrate.source.tensorflow.base.value_flow import flow_of, symbol_of
from migrate.source.tensorflow.facts.calls.callers import last_name

#: Nodes between a value and the call that receives it as a part of an argument.
HOLDERS = (cst.Arg, cst.Element, cst.DictElement, cst.List, cst.Tuple, cst.Dict, cst.IfExp)
NOT_CALLED = "its calls elsewhere are not seen as lookups, so which tables they read is not known"
CALL_IT = "call it where rows are read, with the variable as its argument"


@dataclass(frozen=True)
class Loose:
    """A mention of a lookup function that is not a call."""

    node: cst.Name | cst.Attribute
    message: str
    reason: str
    action: str = ""
    known: bool = False  #: harmless, since its calls are found under another name


def loose_lookups(file: File) -> list[Loose]:
    """Return the mentions of lookup functions that are not calls, in source order."""
    return once(file, ("loose lookups",), lambda: list(_loose(file)))


def _loose(file: File) -> Iterator[Loose]:
    called = {name for call, name in file.names.calls if not file.tree.imported_names(call.func)[0]}
    for node in file.names.uncalled_lookups():
        if _is_binding(file, node):
            continue
        if not _is_renamed(file, node):
            yield _judged(file, node)
        elif file.names.of(node) not in called:
            yield Loose(
                node, f"`{file.tree.excerpt(node)}` is named, not called", "nothing that is read calls it", known=True
            )


def _is_renamed(file: File, node: cst.Name | cst.Attribute) -> bool:
    """True for the right side of `look = tf.nn.embedding_lookup`, where `look` always means that function."""
    around = file.tree.parent(node)
    targets = [one.target for one in around.targets] if isinstance(around, cst.Assign) else []
    return bool(targets) and all(isinstance(one, cst.Name) and file.names.of(one) is not None for one in targets)


def _is_binding(file: File, node: cst.Name | cst.Attribute) -> bool:
    """True for the target in `look = tf.nn.embedding_lookup`; the right side is reported instead."""
    return isinstance(node, cst.Name) and is_target(file.tree, node)


def _judged(file: File, node: cst.Name | cst.Attribute) -> Loose:
    """Describe how a lookup function escapes: by replacement, assignment, or as an argument."""
    text = f"`{file.tree.excerpt(node)}`"
    if is_target(file.tree, node):
        reason = "a lookup by its name runs what stands here, which may read tables in ways that are not known"
        return Loose(node, f"{text} is replaced by another function", reason, "give that function a name of its own")
    around = file.tree.parent(node)
    if isinstance(around, cst.Assign) and len(around.targets) == 1:
        target = around.targets[0].target
        return Loose(
            node, f"{text} is stored in `{file.tree.excerpt(target)}`, which may be other things", NOT_CALLED, CALL_IT
        )
    taker = _taker(file, node)
    if taker is not None and last_name(taker) in {"wraps", "update_wrapper"}:
        reason = "only its name and its documentation are taken"
        return Loose(node, f"{text} is handed to `{file.tree.excerpt(taker)}`", reason, known=True)
    return Loose(node, f"{text} is {_place(file, node, taker)}, not called", NOT_CALLED, CALL_IT)


def _place(file: File, node: cst.BaseExpression, taker: cst.BaseExpression | None) -> str:
    """Describe the use of the function at `node`; `taker` is the function that receives it as an argument."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Param):
        return f"the default of the parameter `{around.name.value}`"
    if isinstance(around, cst.Return):
        return "returned"
    return f"handed to `{file.tree.excerpt(taker)}`" if taker is not None else "one of several to choose from"


def _taker(file: File, node: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the function of the call that receives the value at `node` as a part of an argument."""
    inner: cst.CSTNode = node
    for outer in file.tree.ancestors(node):
        if isinstance(outer, cst.Call):
            return outer.func if outer.func is not inner else None
        if not isinstance(outer, HOLDERS):
            return None
        inner = outer
    return None


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
    given = [arg.value for value in values if isinstance(value.node, cst.Call) for arg in value.node.args]
    values += [value for one in given for value in flow.values(one)]
    return any(isinstance(value, Symbol) and is_lookup(symbol_of(value)) for value in values)
