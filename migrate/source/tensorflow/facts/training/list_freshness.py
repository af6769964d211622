"""Whether what reaches a step is what the step itself would list: made beside it, with no variable made in between.

Variables created behind a list are not in it, but would be in the one that the split step creates. The table of a
Keras layer exists from the construction of the layer, whereas the layer's variable exists from its first call.
"""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from libcst.metadata import FunctionScope

from migrate.source.flow import (
    Bound,
    Class,
    Constant,
    Function,
    Holder,
    Member,
    Result,
    Symbol,
    Value,
    frame_of,
    loops_around,
)
from migrate.source.tensorflow.base.bindings import builtin, is_target, scope_of_name
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.logging_statements import spoken
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, order_of, symbol_of
from migrate.source.tensorflow.facts.optimizers.training_model import RULE
from migrate.source.tensorflow.facts.training.dense_half import makes_variable
from migrate.source.tensorflow.facts.training.gradient_lists import GradientFlow

#: Functions of TensorFlow that create variables, in addition to those that `makes_variable` recognizes.
MAKERS = {"get_variable", "Variable", "input_layer", "linear_model", "make_template"}


def stale(flow: GradientFlow, step: cst.Call, sources: Sequence[cst.BaseExpression]) -> Blocker | None:
    """Return a blocker for a step that is made from a list, or gradients, which another may be by then; else None."""
    tree = flow.file.tree
    for source in dict.fromkeys([*sources, *flow.wholes.values()]):
        shown = tree.excerpt(source)
        if not _is_beside(flow, source, step):
            return blocker(step, RULE, "made-elsewhere", shown=shown)
        apart = id(source) in flow.wholes and tree.statement(source) is not tree.statement(step)
        maker = _made_between(flow, source, step) if apart else None
        if maker is not None:
            return blocker(source, RULE, "made-after-list", shown=shown, text=tree.excerpt(maker))
    return None


def _is_beside(flow: GradientFlow, source: cst.BaseExpression, step: cst.Call) -> bool:
    """True if only names and attributes pass the list on, each assigned in the run of the code that reads it."""
    tree = flow.file.tree
    frame, loop = frame_of(tree, source), next(loops_around(tree, source), None)
    if frame is not frame_of(tree, step) or loop is not next(loops_around(tree, step), None):
        return False
    mentions = ((value, node) for value in flow.step for node in flow.flow.mentions(value))
    return all(node is value.node or _is_passed(flow.file, node, frame, loop) for value, node in mentions)


def _is_passed(file: File, node: cst.BaseExpression, frame: cst.CSTNode, loop: cst.CSTNode | None) -> bool:
    """True for a name or attribute that holds what this run of the code has assigned: no entry, cache or choice."""
    if isinstance(node, cst.Name):
        return _is_own(file, node, frame) and (loop is None or _is_set(file, node, loop))
    return isinstance(node, cst.Attribute) and frame_of(file.tree, node) is frame and _is_set(file, node, loop or frame)


def _is_own(file: File, name: cst.Name, frame: cst.CSTNode) -> bool:
    """True for a name that is local to the function `frame`, or module-level if `frame` is the module."""
    scope = scope_of_name(file.tree, name)
    owner = scope.node if isinstance(scope, FunctionScope) else file.tree.module_of(name)
    return scope is not None and owner is frame and frame_of(file.tree, name) is frame


def _is_set(file: File, node: cst.Name | cst.Attribute, inside: cst.CSTNode) -> bool:
    """True for a name or attribute that each run of a loop, or of a function, assigns before it is read here."""
    tree, text = file.tree, file.tree.source(node)
    if is_target(tree, node):
        return True
    word = node.value if isinstance(node, cst.Name) else node.attr.value
    alike = (tree.names if isinstance(node, cst.Name) else tree.attributes).get(word, ())
    around = [inside, *tree.ancestors(node)]
    return any(
        is_target(tree, one) and tree.source(one) == text and tree.contains(inside, one)
        and tree.span(one)[0] < tree.span(node)[0] and tree.statement(one) is not tree.statement(node)
        and tree.parent(tree.statement(one) or one) in around
        for one in alike
    )  # fmt: skip


def _made_between(flow: GradientFlow, source: cst.CSTNode, step: cst.CSTNode) -> cst.CSTNode | None:
    """Return a call between the two, in one function, that may create a variable; None if there is none."""
    nodes = order_of(flow.file).in_frame(source, step)
    # calling a layer may create its variables
    layers = {id(lookup.call) for table in flow.owners.tables for lookup in table.lookups}
    calls = (one for one in nodes if isinstance(one, cst.Call))
    return next((one for one in calls if id(one) in layers or _may_make(flow.file, one)), None)


def _may_make(file: File, call: cst.Call) -> bool:
    """True for a call that may create a variable itself. Code of the program that it runs is examined separately."""
    part = file.part(call)
    name = part.names.of(call.func)
    if makes_variable(part, call, set()):
        return True
    if name is not None:
        return name.rpartition(".")[2] in MAKERS
    if builtin(part.tree, call.func) or spoken(part, call) is call:
        return False
    values = flow_of(file).values(call.func)
    return not values or any(map(_is_maker, values))


def _is_maker(value: Value) -> bool:
    """True for a layer, template or model, which create variables when they are called, and for an unknown object."""
    if isinstance(value, Member) and value.name != "[]":
        made = symbol_of(value.base)
        return made is None or any(part in f".{made}." for part in (".layers.", ".keras."))
    return not isinstance(value, Function | Bound | Class | Symbol | Constant)


def may_be_zip(file: File, node: cst.BaseExpression) -> bool:
    """True for a value that may come from `zip`, whose pairs can be iterated only once."""
    flow = flow_of(file)
    calls = [value.node for value in flow.values(node) if isinstance(value, Holder | Result)]
    called = [one for call in calls if isinstance(call, cst.Call) for one in flow.values(call.func)]
    return any(isinstance(one, Symbol) and one.name.rpartition(".")[2] in {"zip", "izip"} for one in called)
