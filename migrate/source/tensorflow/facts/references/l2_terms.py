"""Regularization terms that sum over the entries of a matrix, and so are also defined over some of its rows."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst

from migrate.source.tensorflow.base.arguments import bind, is_none, literal, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import known_values

RULE = "tf-table-norm"
#: Functions of a matrix that sum over its entries: name -> parameters.
SUMS = {
    "nn.l2_loss": ("t", "name"),
    "norm": ("tensor", "ord", "axis", "keepdims", "name", "keep_dims"),
    "linalg.norm": ("tensor", "ord", "axis", "keepdims", "name", "keep_dims"),
}
#: Calls that return a function which sums over the entries of a matrix.
REGULARIZERS = {
    "contrib.layers.l1_regularizer", "contrib.layers.l2_regularizer", "contrib.layers.l1_l2_regularizer",
    "keras.regularizers.l1", "keras.regularizers.l2", "keras.regularizers.l1_l2",
    "keras.regularizers.L1", "keras.regularizers.L2", "keras.regularizers.L1L2",
}  # fmt: skip
#: Elementwise functions whose sum is such a term.
ELEMENTWISE = {"square", "math.square", "abs", "math.abs"}
#: Functions that run their arguments in a branch or loop of the graph.
BRANCHES = {"cond", "case", "switch_case", "while_loop"}
#: What a term over the rows of the batch assumes of their order; the run decides.
AFTER = "all lookups of the table are built before it, or it raises RuntimeError"
#: Functions that sum over axes.
SUMMED = {"reduce_sum", "math.reduce_sum"}
REDUCE = ("input_tensor", "axis", "keepdims", "name", "reduction_indices", "keep_dims")


def sum_over(file: File, reference: cst.BaseExpression) -> cst.Call | None:
    """Return the call that sums an elementwise function of `reference`, or None if there is none."""
    call = file.tree.call_with(reference)
    if call is not None:
        name = file.names.of(call.func)
        if name in SUMS:
            return call if _whole(call, SUMS[name], reference) and _order(call, name) else None
        if is_regularizer(file, call.func):
            return call if len(call.args) == 1 else None
    powers = power(file, reference)
    return reduced(file, powers) if powers is not None else None


def is_regularizer(file: File, node: cst.BaseExpression) -> bool:
    """True for `l2_regularizer(r)`, or what is nothing else: a function that sums over the entries of a matrix."""
    value = resolve(file.tree, node)
    if isinstance(value, cst.Call) and file.names.of(value.func) in REGULARIZERS:
        return True
    made = [value.node for value in known_values(file, node)]
    return bool(made) and all(isinstance(one, cst.Call) and file.names.of(one.func) in REGULARIZERS for one in made)


def _whole(call: cst.Call, parameters: tuple[str, ...], value: cst.BaseExpression) -> bool:
    """True if `value` is given for the first parameter and the call reduces over all axes."""
    bound = bind(call, parameters)
    if bound is None or parameters[0] not in bound or bound[parameters[0]].value is not value:
        return False
    return all(is_none(bound.get(name)) for name in ("axis", "reduction_indices"))


def _order(call: cst.Call, name: str | None) -> bool:
    """True if the order of a norm is known to be a sum over entries: 1, 2 or euclidean."""
    given = (bind(call, SUMS[name or ""]) or {}).get("ord")
    return given is None or literal(given.value) in (1, 2, 1.0, 2.0, "euclidean", "fro")


def power(file: File, reference: cst.BaseExpression) -> cst.BaseExpression | None:
    """Return the expression around `reference` that computes the square or magnitude of each entry, or None."""
    around = file.tree.parent(reference)
    text = file.tree.source(reference)
    if isinstance(around, cst.BinaryOperation):
        squared = isinstance(around.operator, cst.Power) and around.left is reference and number(around.right) == 2
        multiplied = isinstance(around.operator, cst.Multiply) and all(
            file.tree.source(side) == text for side in (around.left, around.right)
        )
        return around if squared or multiplied else None
    call = file.tree.call_with(reference)
    if call is None:
        return None
    name, values = file.names.of(call.func), [arg.value for arg in call.args]
    if name in ELEMENTWISE and len(values) == 1:
        return call
    if name == "math.pow" and len(values) == 2 and values[0] is reference and number(values[1]) == 2:
        return call
    same = len(values) == 2 and all(file.tree.source(value) == text for value in values)
    return call if name in {"multiply", "math.multiply"} and same else None


def reduced(file: File, power: cst.BaseExpression) -> cst.Call | None:
    """Return the `reduce_sum` over all axes of an elementwise expression, or None."""
    call = file.tree.call_with(power)
    summed = call is not None and file.names.of(call.func) in SUMMED and _whole(call, REDUCE, power)
    return call if summed else None


def check_terms(file: File, table: Table) -> None:
    """Replace those blockers of a table whose term would miss rows of lookups that run in a branch."""
    table.blockers = [checked_term(file, table, one) if one.takes_rows else one for one in table.blockers]


def checked_term(file: File, table: Table, term: Blocker) -> Blocker:
    """Return the blocker of a term over the rows of the batch, or in its place why the term would miss rows."""
    if any(is_branched(file, lookup.call) for lookup in table.lookups):
        return blocker(term.node, term.rule, "lookup-in-branch", message=term.message)
    return replace(term, assumption=f"{term.assumption}; {AFTER}")


def is_branched(file: File, lookup: cst.CSTNode) -> bool:
    """True for a lookup inside a branch or a loop of the graph."""
    for around in file.tree.ancestors(lookup):
        if isinstance(around, cst.Lambda):
            return True
        uses = file.tree.names.get(around.name.value, ()) if isinstance(around, cst.FunctionDef) else ()
        if any(file.names.of(call.func) in BRANCHES for call in map(file.tree.call_with, uses) if call is not None):
            return True
    return False
