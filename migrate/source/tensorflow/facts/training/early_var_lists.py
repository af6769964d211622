"""Lists of all trainable variables that are taken before the step which trains them.

What is made in between is not in such a list, but would be among what the split step lists where it stands. A table of
a Keras layer is there from where the layer is made, the variable of the layer from its first call.
"""

from __future__ import annotations

from collections.abc import Container, Sequence

import libcst as cst

from migrate.source.flow import Member, Result, Unknown, Value
from migrate.source.tensorflow.base.bindings import builtin, is_target, local_names, scope_of_name
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.logging_statements import spoken
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, order_of, symbol_of
from migrate.source.tensorflow.facts.optimizers.training_model import RULE
from migrate.source.tensorflow.facts.training.dense_half import makes_variable

#: Functions of TensorFlow that make variables, besides those that `makes_variable` knows.
MAKERS = {"get_variable", "Variable", "input_layer", "linear_model", "make_template"}


def early_list(
    file: File, step: cst.Call, lists: Sequence[cst.Call], tables: Sequence[Table], fresh: Container[int]
) -> Blocker | None:
    """Return why a step stays that is given one of these `lists`, where variables may be made after it.

    `fresh` are the ids of those that are made in the same turn of the code around the step.
    """
    tree = file.tree
    for call in lists:
        if tree.statement(call) is tree.statement(step):
            continue
        maker = made_between(file, call, step, tables, fresh=id(call) in fresh)
        if maker is not None:
            shown, text = (" ".join(tree.source(one).split()) for one in (call, maker))
            if maker is step:
                return blocker(call, RULE, "unknown-after-list", shown=shown)
            text = text if len(text) <= 60 else text[:57] + "..."
            return blocker(call, RULE, "made-after-list", shown=shown, text=text)
    return None


def made_between(
    file: File, first: cst.CSTNode, step: cst.Call, tables: Sequence[Table], *, fresh: bool = False
) -> cst.CSTNode | None:
    """Return what may make a variable after `first` and before `step`, that itself where it is not known what runs.

    With `fresh`, the step is in the same code as `first`, and what it is given was made in the same turn of it.
    """
    order = order_of(file)
    nodes = order.in_frame(first, step) if fresh else order.between(first, step)
    if nodes is None:
        return step
    makers = {id(lookup.call) for table in tables for lookup in table.lookups}  # a layer may
    return next((one for one in nodes if isinstance(one, cst.Call) and _may_make(file, one, makers)), None)


def _may_make(file: File, call: cst.Call, makers: Container[int]) -> bool:
    """True for a call that may make a variable itself; what the code of the program does in it is looked at there."""
    part = file.part(call)
    name = part.names.of(call.func)
    if makes_variable(part, call, set()):
        return True
    if name is not None:
        return name.rpartition(".")[2] in MAKERS
    if builtin(part.tree, call.func) or spoken(part, call) is call:
        return False
    values = flow_of(file).values(call.func)
    return id(call) in makers or any(_is_maker(part, call.func, value) for value in values)


def _is_maker(file: File, func: cst.BaseExpression, value: Value) -> bool:
    """True for a layer, a template or a model, which make variables when they are called, and for what is not known."""
    if isinstance(value, Member) and value.name != "[]":
        made = symbol_of(value.base) or ""
        return isinstance(value.base, Result) and any(part in f".{made}." for part in (".layers.", ".keras."))
    if isinstance(value, Unknown):
        return _is_object(file, func)
    return isinstance(value, Result | Member)


def _is_object(file: File, func: cst.BaseExpression) -> bool:
    """True for what is bound to an object: layers, templates and models make variables when they are called."""
    if isinstance(func, cst.Attribute):
        return any(is_target(file.tree, one) for one in file.tree.attributes.get(func.attr.value, ()))
    scope = scope_of_name(file.tree, func) if isinstance(func, cst.Name) else None
    if scope is None or not isinstance(func, cst.Name):
        return not isinstance(func, cst.Name)
    return any(is_target(file.tree, one) for one in local_names(file.tree, func.value, scope))
