"""Lists of all trainable variables that are created before the training step that uses them.

Variables created in between are not in such a list, but would be in the one that the split step creates. The table of a
Keras layer exists from the construction of the layer, whereas the layer's variable exists from its first call.
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

#: Functions of TensorFlow that create variables, in addition to those that `makes_variable` recognizes.
MAKERS = {"get_variable", "Variable", "input_layer", "linear_model", "make_template"}


def early_list(
    file: File, step: cst.Call, lists: Sequence[cst.Call], tables: Sequence[Table], fresh: Container[int]
) -> Blocker | None:
    """Return a blocker for a step that uses one of these `lists` if variables may be created after the list, else None.

    `fresh` are the ids of the lists that are created in the same function and loop iteration as the step.
    """
    tree = file.tree
    for call in lists:
        if tree.statement(call) is tree.statement(step):
            continue
        maker = made_between(file, call, step, tables, fresh=id(call) in fresh)
        if maker is not None:
            shown = tree.one_line(call)
            if maker is step:
                return blocker(call, RULE, "unknown-after-list", shown=shown)
            return blocker(call, RULE, "made-after-list", shown=shown, text=tree.excerpt(maker))
    return None


def made_between(
    file: File, first: cst.CSTNode, step: cst.CSTNode, tables: Sequence[Table], *, fresh: bool = False
) -> cst.CSTNode | None:
    """Return a call that may create a variable between `first` and `step`; `step` itself if the order is not known.

    With `fresh`, `first` runs in the same function and the same loop iteration as the step.
    """
    order = order_of(file)
    nodes = order.in_frame(first, step) if fresh else order.between(first, step)
    if nodes is None:
        return step
    # calling a layer may create its variables
    makers = {id(lookup.call) for table in tables for lookup in table.lookups}
    return next((one for one in nodes if isinstance(one, cst.Call) and _may_make(file, one, makers)), None)


def _may_make(file: File, call: cst.Call, makers: Container[int]) -> bool:
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
    return id(call) in makers or any(_is_maker(part, call.func, value) for value in values)


def _is_maker(file: File, func: cst.BaseExpression, value: Value) -> bool:
    """True for a layer, template or model, which create variables when they are called, and for an unknown object."""
    if isinstance(value, Member) and value.name != "[]":
        made = symbol_of(value.base) or ""
        return isinstance(value.base, Result) and any(part in f".{made}." for part in (".layers.", ".keras."))
    if isinstance(value, Unknown):
        return _is_object(file, func)
    return isinstance(value, Result | Member)


def _is_object(file: File, func: cst.BaseExpression) -> bool:
    """True for a name or attribute that is assigned an object, which may be a layer, a template or a model."""
    if isinstance(func, cst.Attribute):
        return any(is_target(file.tree, one) for one in file.tree.attributes.get(func.attr.value, ()))
    scope = scope_of_name(file.tree, func) if isinstance(func, cst.Name) else None
    if scope is None or not isinstance(func, cst.Name):
        return not isinstance(func, cst.Name)
    return any(is_target(file.tree, one) for one in local_names(file.tree, func.value, scope))
