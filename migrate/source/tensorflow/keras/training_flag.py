"""Whether the code of `call` under `if not training:` never runs in a training step.

Keras hands `training` on from the model that it trains to the layers in it, also where a call leaves it out. A program
ends that where it gives a layer another flag, calls `call` itself, or calls a layer outside of any `call`, as in
`compute_loss`.
"""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst
import libcst.matchers as m

from migrate.source.flow import Holder
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.arguments import literal
from migrate.source.tensorflow.base.bindings import builtin, is_target
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of

FLAG = "training"
_CALL = "call"
#: Methods that Keras runs before training, and none of which computes.
_BEFORE = frozenset({"__init__", "build"})


def is_guarded(file: File, node: cst.CSTNode, method: cst.FunctionDef, apart: Callable[[cst.CSTNode], bool]) -> bool:
    """True for code of `call` that runs where `training` is false, in a program that leaves the flag to Keras.

    `apart` tells of code outside of the methods that Keras calls whether it runs where no gradient is taken.
    """
    tree = file.tree
    if method.name.value != _CALL or not _has_flag(tree, method) or not _is_left_to_keras(file, apart):
        return False
    inner: cst.CSTNode = node
    for around in tree.ancestors(node):
        if around is method:
            return False
        if isinstance(around, cst.If) and _is_left_out(around, inner):
            return True
        if isinstance(around, cst.IndentedBlock) and _returned_before(around, inner):
            return True
        inner = around
    return False


def _has_flag(tree: Tree, method: cst.FunctionDef) -> bool:
    """True if the method has the parameter `training` and does not set it."""
    given = [one.name.value for one in (*method.params.params, *method.params.kwonly_params)]
    uses = (use for use in tree.names.get(FLAG, ()) if tree.contains(method.body, use))
    return FLAG in given and not any(is_target(tree, use) for use in uses)


def _is_left_to_keras(file: File, apart: Callable[[cst.CSTNode], bool]) -> bool:
    """True if each call that may run a layer within a training step hands on the flag of that step."""
    calls = file.tree.calls
    return once(file, ("flag of training",), lambda: all(_hands_on(file, call) or apart(call) for call in calls))


def _hands_on(file: File, call: cst.Call) -> bool:
    tree = file.tree
    function = next((one for one in tree.ancestors(call) if isinstance(one, cst.FunctionDef | cst.Lambda)), None)
    itself = isinstance(call.func, cst.Attribute) and call.func.attr.value == _CALL
    if function is None or not (itself or _may_run_layer(file, call)):
        return True
    name = function.name.value if isinstance(function, cst.FunctionDef) else ""
    if name in _BEFORE:
        return True
    in_call = isinstance(function, cst.FunctionDef) and name == _CALL and _has_flag(tree, function)
    if any(arg.star for arg in call.args):
        return False
    flags = [arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == FLAG]
    flags = flags or _positional(file, call)
    if not flags:
        return in_call and not itself
    return all(literal(one) is True or (in_call and m.matches(one, m.Name(FLAG))) for one in flags)


def _positional(file: File, call: cst.Call) -> list[cst.BaseExpression]:
    """Return the arguments without a keyword that may be the flag."""
    rest = [arg.value for arg in call.args if arg.keyword is None][1:]
    values = flow_of(file).values(call.func)
    places = {_place(one) for one in values if isinstance(one, Holder)}
    if values and places and None not in places:
        return [one for number, one in enumerate(rest, 1) if number in places]
    return [one for one in rest if _may_be_flag(one)]


def _place(layer: Holder) -> int | None:
    """Return the place of the flag among the arguments of a layer of the program; None where that is not seen."""
    node = layer.cls.node if layer.cls is not None else None
    body = node.body.body if isinstance(node, cst.ClassDef) else ()
    for one in body:
        if isinstance(one, cst.FunctionDef) and one.name.value == _CALL and not one.params.star_kwarg:
            names = [param.name.value for param in one.params.params[1:]]
            return names.index(FLAG) if FLAG in names else -1
    return None


def _may_run_layer(file: File, call: cst.Call) -> bool:
    """True if what is called may be a layer of the program: an instance of a class of its own, or an unknown value."""
    if any(arg.keyword is not None and arg.keyword.value == FLAG for arg in call.args):
        return True
    func = call.func
    imported, other = file.tree.imported_names(func)
    if (imported and not other) or file.names.of(func) is not None or builtin(file.tree, func):
        return False
    values = flow_of(file).values(func)
    if any(isinstance(one, Holder) and one.kind == "object" for one in values):
        return True
    return not values and (isinstance(func, cst.Subscript | cst.Name) or any(arg.star == "**" for arg in call.args))


def _may_be_flag(node: cst.BaseExpression) -> bool:
    """True for what is no tensor for sure: a constant, or a condition."""
    constant = isinstance(node, cst.Name) and node.value in {"False", "None"}
    return constant or isinstance(node, cst.BaseNumber | cst.BooleanOperation | cst.Comparison | cst.UnaryOperation)


def _is_left_out(choice: cst.If, inner: cst.CSTNode) -> bool:
    """True if a part of an `if` statement does not run in training."""
    if m.matches(choice.test, m.UnaryOperation(m.Not(), m.Name(FLAG))):
        return choice.body is inner
    return m.matches(choice.test, m.Name(FLAG)) and choice.orelse is inner


def _returned_before(block: cst.IndentedBlock, inner: cst.CSTNode) -> bool:
    """True if a statement before `inner` in a block is `if training:` and ends with `return`."""
    for statement in block.body:
        if statement is inner:
            return False
        if isinstance(statement, cst.If) and m.matches(statement.test, m.Name(FLAG)):
            last = statement.body.body[-1]
            if isinstance(last, cst.SimpleStatementLine) and isinstance(last.body[-1], cst.Return):
                return True
    return False
