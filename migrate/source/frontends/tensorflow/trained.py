"""Lists of variables that only tell a training step what it trains: which, and whether it may, is judged there."""

from __future__ import annotations

import libcst as cst

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import TRAINING
from migrate.source.frontends.tensorflow.talk import prints
from migrate.source.frontends.tensorflow.training_facts import is_elsewhere, method_of
from migrate.source.frontends.tensorflow.values import builtin, is_target, local_names, scope_of_name, self_class

#: Methods that train, with the place and the keyword of what they train.
_LISTS = {"minimize": (2, "var_list"), "compute_gradients": (1, "var_list"), "apply_gradients": (0, "grads_and_vars")}


def is_given_to_training(file: File, node: cst.CSTNode) -> bool:
    """True for the argument of a step, or of gradients, that says what is trained: lists and pairs are judged there."""
    arg = file.tree.parent(node)
    call = file.tree.parent(arg) if isinstance(arg, cst.Arg) and not arg.star else None
    if not isinstance(call, cst.Call) or not isinstance(arg, cst.Arg):
        return False
    place = next(i for i, one in enumerate(call.args) if one is arg)
    keyword = arg.keyword.value if arg.keyword is not None else ""
    if file.names.of(call.func) == "gradients":
        return keyword == "xs" or (place == 1 and not keyword)
    at = _LISTS.get(method_of(call))
    if at is None or is_elsewhere(file, call):
        return False
    return keyword == at[1] or (not keyword and place == at[0])


#: How many names of one list after another are followed.
DEPTH = 3


def is_trained(file: File, node: cst.CSTNode, depth: int = DEPTH) -> bool:
    """True for a list, or a part of one, that goes nowhere but into the `var_list` of a step, or beside its gradients.

    Every such step is a split one, one of dense variables, or a reason to keep its tables.
    """
    around = file.tree.parent(node)
    if isinstance(around, cst.BinaryOperation):
        return isinstance(around.operator, cst.Add) and is_trained(file, around, depth)
    if isinstance(around, cst.StarredElement):
        listed = file.tree.parent(around)
        return isinstance(listed, cst.List | cst.Tuple) and is_trained(file, listed, depth)
    if isinstance(around, cst.Attribute):
        call = file.tree.parent(around)
        values = isinstance(call, cst.Call) and call.func is around and not call.args
        return values and around.attr.value in {"values", "itervalues"} and is_trained(file, call or around, depth)
    if isinstance(around, cst.Arg):
        return _is_given(file, around, depth)
    return bool(depth) and _all_uses(file, node, depth - 1, zipped=False)


def _is_given(file: File, arg: cst.Arg, depth: int) -> bool:
    """True for an argument that says what is trained."""
    call = file.tree.parent(arg)
    if not isinstance(call, cst.Call) or arg.star:
        return False
    name = builtin(file.tree, call.func)
    if name in {"list", "tuple"} and len(call.args) == 1:
        return is_trained(file, call, depth)
    place = next(i for i, one in enumerate(call.args) if one is arg)
    if name == "zip":
        return place == 1 and len(call.args) == 2 and _is_applied(file, call, depth)
    keyword = arg.keyword.value if arg.keyword is not None else ""
    if file.names.of(call.func) == "gradients":
        return place == 1 and not keyword
    if method_of(call) not in TRAINING[:2] or is_elsewhere(file, call):
        return False
    known = {"minimize": 2, "compute_gradients": 1}[method_of(call)]
    return keyword == "var_list" or (not keyword and place == known)


def _is_applied(file: File, node: cst.CSTNode, depth: int) -> bool:
    """True for pairs of gradients and variables that go into `apply_gradients`, perhaps after clips."""
    around = file.tree.parent(node)
    if isinstance(around, cst.Arg):
        call = file.tree.parent(around)
        if not isinstance(call, cst.Call) or around.star:
            return False
        if builtin(file.tree, call.func) in {"list", "tuple"} and len(call.args) == 1:
            return _is_applied(file, call, depth)
        pairs = call.args[0] is around or (around.keyword is not None and around.keyword.value == "grads_and_vars")
        return method_of(call) == "apply_gradients" and pairs and not is_elsewhere(file, call)
    if isinstance(around, cst.CompFor):
        whole = file.tree.parent(around)
        names = around.target.elements if isinstance(around.target, cst.Tuple) else ()
        pair = whole.elt.elements if isinstance(whole, cst.ListComp) and isinstance(whole.elt, cst.Tuple) else ()
        same = len(names) == len(pair) == 2 and file.tree.source(names[1].value) == file.tree.source(pair[1].value)
        return same and whole is not None and _is_applied(file, whole, depth)
    return bool(depth) and _all_uses(file, node, depth - 1, zipped=True)


def _all_uses(file: File, node: cst.CSTNode, depth: int, *, zipped: bool) -> bool:
    """True when `node` is bound to a name, or an attribute of `self`, that is used for nothing else."""
    around = file.tree.parent(node)
    if not isinstance(around, cst.Assign) or around.value is not node or len(around.targets) != 1:
        return False
    target = around.targets[0].target
    uses: list[cst.Name] | list[cst.Attribute] = []
    if isinstance(target, cst.Name) and (scope := scope_of_name(file.tree, target)) is not None:
        uses = local_names(file.tree, target.value, scope)
    elif isinstance(target, cst.Attribute) and (cls := self_class(file.tree, target)) is not None:
        uses = list(file.tree.attributes[target.attr.value])
        if any(self_class(file.tree, one) is not cls for one in uses):
            return False
    reads = [one for one in uses if not is_target(file.tree, one)]
    ends = _is_applied if zipped else is_trained
    return bool(uses) and all(prints(file, one) or ends(file, one, depth) for one in reads)
