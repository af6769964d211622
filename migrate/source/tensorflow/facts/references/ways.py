"""How a table gets to where it is used: the lines of source by which its value goes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from migrate.report.model import FlowStep, Location
from migrate.source.flow import Result, ValueFlow
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of
from migrate.source.tensorflow.facts.references.table_values import collections


def steps_to(
    file: File, call: cst.Call, label: str, node: cst.CSTNode, holders: Sequence[cst.BaseExpression] = ()
) -> tuple[FlowStep, ...]:
    """Return how what a call makes gets to `node`; nothing where no line lies between the two.

    `label` is how the source calls it, and `holders` are the mentions of lists and dicts that hold it.
    """
    flow = flow_of(file)
    if isinstance(node, (cst.Module, cst.FunctionDef, cst.ClassDef)) or not flow.knows(call):
        return ()
    mention, path = _mention(file, call, node, {id(holder) for holder in holders})
    if mention is None:
        return ()
    used = f"used as `{flow.home(mention).excerpt(mention)}`"
    first, last = _step(flow, call, f"`{label}` is created"), _step(flow, mention, used)
    between: dict[tuple[str, int], FlowStep] = {}
    for node_between in path:
        if not isinstance(node_between, cst.ImportAlias):
            step = _step(flow, node_between, _line(flow, node_between))
            between.setdefault(_line_of(step.location), step)
    steps = [step for line, step in between.items() if line not in map(_line_of, (first.location, last.location))]
    return (first, *steps, last) if steps else ()


def _mention(
    file: File, call: cst.Call, node: cst.CSTNode, holders: set[int]
) -> tuple[cst.BaseExpression | None, list[cst.CSTNode]]:
    """Return the first expression of `node` that is the value or holds it, with the places by which it came there."""
    flow = flow_of(file)
    nodes = [one for one in _inside(node) if isinstance(one, cst.BaseExpression) and flow.knows(one)]
    values = [value for value in flow.values(call) if isinstance(value, Result) and value.node is call]
    for value in values:
        for expression in nodes:
            if value in flow.values(expression):
                return expression, flow.path(value, expression)
    kept = collections(file, values)
    for expression in (one for one in nodes if id(one) in holders):
        for holder in kept:
            if holder in flow.values(expression):
                return expression, flow.path(holder, expression)
    return None, []


def _inside(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """Yield a node and what stands in it, in order, but for the blocks of statements."""
    if not isinstance(node, cst.BaseSuite):
        yield node
        for child in node.children:
            yield from _inside(child)


def _line_of(location: Location) -> tuple[str, int]:
    return location.path, location.line


def _step(flow: ValueFlow, node: cst.CSTNode, text: str) -> FlowStep:
    return FlowStep(flow.home(node).location(node), text)


def _line(flow: ValueFlow, node: cst.CSTNode) -> str:
    """Return the line of source on which a place begins."""
    tree = flow.home(node)
    return f"`{tree.text[tree.line_start(node) :].split(chr(10), 1)[0].strip()}`"
