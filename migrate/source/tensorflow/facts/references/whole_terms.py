"""Terms of a loss over all entries of a table: which are, what they become, and those that some rows have, too."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import libcst as cst

from migrate.source.flow import Computed, Symbol, Value
from migrate.source.tensorflow.base.arguments import bind, is_none, literal, number
from migrate.source.tensorflow.base.bindings import resolve
from migrate.source.tensorflow.base.model import Blocker, CodeChange, Table, blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import known_values, root_of
from migrate.source.tensorflow.facts.calls.inner_graphs import in_branch, run_apart

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
#: What findings say of exact terms: of the code; of how it trains; and of a term that stays as it was.
EXACTLY = "covers all rows of the table"
SETTLED = (
    "the steps of this term are applied to a row when it is next read, updated or saved; the value of the term "
    "reads all rows"
)
IN_BRANCH = "a branch or loop of the graph computes it, so the table does not know which steps have it"
_ABSOLUTE = {"abs", "math.abs"}

_FUNCTIONS = ("l2_loss", "l1_norm", "penalty")
_PRODUCT = "2.0 * "


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
    nodes = [value.node for value in known_values(file, node)]
    return bool(nodes) and all(isinstance(one, cst.Call) and file.names.of(one.func) in REGULARIZERS for one in nodes)


def _whole(call: cst.Call, parameters: tuple[str, ...], value: cst.BaseExpression) -> bool:
    """True if `value` is given for the first parameter and the call reduces over all axes."""
    bound = bind(call, parameters)
    if bound is None or parameters[0] not in bound or bound[parameters[0]].value is not value:
        return False
    return all(is_none(bound.get(name)) for name in ("axis", "reduction_indices"))


def _order(call: cst.Call, name: str | None) -> bool:
    """True if the order of a norm is known to be a sum over entries: 1, 2 or euclidean."""
    order = (bind(call, SUMS[name or ""]) or {}).get("ord")
    return order is None or literal(order.value) in (1, 2, 1.0, 2.0, "euclidean", "fro")


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


def exact_change(file: File, reference: cst.BaseExpression) -> CodeChange | None:
    """Return the change of a term over all entries of `reference` that takes a table; None if it is no such term."""
    call = sum_over(file, reference)
    if call is None or is_branched(file, call) or in_branch(file, call) or run_apart(file, call):
        return None
    pattern, bare = _pattern(file, call), _stands_alone(file, call)
    table, regularizer = file.tree.source(reference), file.tree.source(call.func)
    tf = file.part(call).names.v1_prefix or "tf"
    named = (bind(call, SUMS["nn.l2_loss"]) or {}).get("name") if file.names.of(call.func) == "nn.l2_loss" else None
    label = f", name={file.tree.source(named.value)}" if named is not None else ""

    def text(fresh: Fresh, _: tuple[str, ...]) -> str:
        used = {name: fresh.imports(name) for name in _FUNCTIONS if f"{{{name}}}" in pattern}
        new = pattern.format(table=table, name=label, regularizer=regularizer, tf=tf, **used)
        return f"({new})" if pattern.startswith(_PRODUCT) and not bare else new

    return CodeChange(call, text)


def takes_any(file: File, reference: cst.BaseExpression) -> bool:
    """True for a sum over all entries, as `tf.nn.l2_loss(x)`: its form for tables does the same with any other `x`."""
    return sum_over(file, reference) is not None and exact_change(file, reference) is not None


def is_computed(value: Value) -> bool:
    """True for what TensorFlow or an operator gives, but not for what code that is not seen may have put there."""
    root = root_of(value)
    return isinstance(value, Computed) or (isinstance(root, Symbol) and canonical(root.name) is not None)


def exact_changes(file: File, references: Iterable[cst.BaseExpression]) -> tuple[CodeChange, ...]:
    """Return the changes of several terms, each once; none if one of them cannot be exact."""
    changes = [exact_change(file, one) for one in references]
    known = {id(change.node): change for change in changes if change is not None}
    return tuple(known.values()) if None not in changes else ()


def _pattern(file: File, call: cst.Call) -> str:
    """Return the form of what a term becomes."""
    name = file.names.of(call.func)
    if is_regularizer(file, call.func):
        return "{penalty}({regularizer}, {table})"
    if name == "nn.l2_loss":
        return "{l2_loss}({table}{name})"
    if name in SUMS:
        order = (bind(call, SUMS[name]) or {}).get("ord")
        first = order is not None and literal(order.value) in (1, 1.0)
        return "{l1_norm}({table})" if first else "{tf}.sqrt(2.0 * {l2_loss}({table}))"
    inner = (bind(call, REDUCE) or {})["input_tensor"].value
    absolute = isinstance(inner, cst.Call) and file.names.of(inner.func) in _ABSOLUTE
    return "{l1_norm}({table})" if absolute else _PRODUCT + "{l2_loss}({table})"


def _stands_alone(file: File, call: cst.Call) -> bool:
    """True if a product in the place of a call needs no parentheses."""
    around = file.tree.parent(call)
    if isinstance(around, cst.BinaryOperation):
        left = around.left is call
        product = isinstance(around.operator, (cst.Multiply, cst.Divide))
        return isinstance(around.operator, (cst.Add, cst.Subtract)) or (left and product)
    return isinstance(around, (cst.Arg, cst.Assign, cst.AugAssign, cst.Return, cst.Element))
