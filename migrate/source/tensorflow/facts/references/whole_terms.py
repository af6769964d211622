"""Terms of a loss over all rows of a table, which are exact: what they become, and what training allows them."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from migrate.source.flow import Computed, Symbol, Value
from migrate.source.tensorflow.base.arguments import bind, literal
from migrate.source.tensorflow.base.model import CodeChange
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.symbols import canonical
from migrate.source.tensorflow.base.unique_names import Fresh
from migrate.source.tensorflow.base.value_flow import root_of
from migrate.source.tensorflow.facts.calls.inner_graphs import in_branch, run_apart
from migrate.source.tensorflow.facts.references.l2_terms import (
    REDUCE,
    SUMS,
    is_branched,
    is_regularizer,
    sum_over,
)

#: What findings say of exact terms: of the code; of how it trains; and of a term that stays as it was.
EXACTLY = "covers all rows of the table"
SETTLED = "each row takes each step of this term when it is next read, updated or saved; its value reads all rows"
IN_BRANCH = "a branch or loop of the graph computes it, where its steps cannot be told from those without it"
_ABSOLUTE = {"abs", "math.abs"}

_FUNCTIONS = ("l2_loss", "l1_norm", "penalty")
_PRODUCT = "2.0 * "


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
    found = [exact_change(file, one) for one in references]
    known = {id(change.node): change for change in found if change is not None}
    return tuple(known.values()) if None not in found else ()


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
        product = isinstance(around.operator, cst.Multiply | cst.Divide)
        return isinstance(around.operator, cst.Add | cst.Subtract) or (left and product)
    return isinstance(around, cst.Arg | cst.Assign | cst.AugAssign | cst.Return | cst.Element)
