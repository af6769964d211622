"""Expressions that a split step no longer evaluates; their evaluation must have no side effects."""

from __future__ import annotations

import libcst as cst

from migrate.source.flow import Holder, Member, Result, Symbol
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

#: Canonical names of calls without side effects.
QUIET = {
    "trainable_variables", "get_collection", "builtins.list", "builtins.tuple", "builtins.dict", "builtins.getattr",
    "builtins.super",
}  # fmt: skip
METHODS = {"get", "values", "items", "copy", "keys"}


def is_quiet(file: File, node: cst.CSTNode) -> bool:
    """True for an expression without side effects: what it runs creates, prints and modifies nothing."""
    flow, seen = flow_of(file), set[cst.CSTNode]()
    pending: list[cst.CSTNode] = [node]
    while pending:
        one = pending.pop()
        if isinstance(
            one, cst.NamedExpr | cst.Await | cst.Yield | cst.For | cst.While | cst.With | cst.Raise | cst.Del
        ):
            return False
        if isinstance(one, cst.AssignTarget | cst.AugAssign) and not isinstance(getattr(one, "target", None), cst.Name):
            return False
        if isinstance(one, cst.Global | cst.Nonlocal):
            return False
        if isinstance(one, cst.Call) and not _is_quiet_call(file, one):
            return False
        for function in flow.runs(one):
            if function not in seen:
                seen.add(function)
                pending.append(function.body)  # type: ignore[attr-defined]
        pending += [child for child in one.children if not isinstance(child, cst.FunctionDef)]
    return True


def _is_quiet_call(file: File, call: cst.Call) -> bool:
    """True for a call whose callee is known to have no side effects, or is code of the program."""
    flow = flow_of(file)
    values = flow.values(call.func)
    if file.part(call).names.of(call.func) in QUIET:
        return True
    for value in values:
        if isinstance(value, Member):
            known = isinstance(value.base, Holder) and value.name in METHODS
        else:
            known = bool(flow.runs(call)) or (isinstance(value, Symbol) and value.name in QUIET)
            known = known and not isinstance(value, Result)
        if not known:
            return False
    return bool(values)
