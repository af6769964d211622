"""Whether the list that reaches a step is the latest one, and whether it may be iterated twice."""

from __future__ import annotations

import libcst as cst
from libcst.metadata import FunctionScope

from migrate.source.flow import Holder, Result, Symbol, frame_of, loops_around
from migrate.source.tensorflow.base.bindings import is_target, local_names, scope_of_name
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.training.gradient_lists import Flow


def is_fresh(flow: Flow, source: cst.BaseExpression, step: cst.Call) -> bool:
    """True if only local names pass the list on, each assigned in the loop iteration that reads it."""
    tree = flow.file.tree
    frame, loop = frame_of(tree, source), next(loops_around(tree, source), None)
    if frame is not frame_of(tree, step) or loop is not next(loops_around(tree, step), None):
        return False
    for value in flow.step:
        for node in flow.flow.mentions(value):
            if isinstance(node, cst.Name):
                if not _is_own(flow.file, node, frame) or (loop is not None and not _is_set_in(flow.file, node, loop)):
                    return False
            elif id(node) not in flow.understood or frame_of(tree, node) is not frame:
                return False
    return True


def _is_own(file: File, name: cst.Name, frame: cst.CSTNode) -> bool:
    """True for a name that is local to the function `frame`, or module-level if `frame` is the module."""
    scope = scope_of_name(file.tree, name)
    owner = scope.node if isinstance(scope, FunctionScope) else file.tree.module_of(name)
    return scope is not None and owner is frame and frame_of(file.tree, name) is frame


def _is_set_in(file: File, name: cst.Name, loop: cst.CSTNode) -> bool:
    """True for a name that every iteration of the loop assigns before it is read."""
    tree, scope = file.tree, scope_of_name(file.tree, name)
    if scope is None or not tree.contains(loop, name):
        return False
    around = list(tree.ancestors(name))
    for target in local_names(tree, name.value, scope):
        line = tree.statement(target)
        before = tree.span(target)[0] < tree.span(name)[0] and line is not None and line is not tree.statement(name)
        if before and is_target(tree, target) and tree.contains(loop, target) and tree.parent(line or target) in around:
            return True
    return False


def may_be_zip(file: File, node: cst.BaseExpression) -> bool:
    """True for a value that may come from `zip`, whose pairs can be iterated only once."""
    flow = flow_of(file)
    calls = [value.node for value in flow.values(node) if isinstance(value, Holder | Result)]
    called = [one for call in calls if isinstance(call, cst.Call) for one in flow.values(call.func)]
    return any(isinstance(one, Symbol) and one.name.rpartition(".")[2] in {"zip", "izip"} for one in called)
