"""Optimizers whose class is selected at run time: from a dict, by a condition, or by a class attribute."""

from __future__ import annotations

import re
from collections.abc import Container

import libcst as cst

from migrate.source.flow import Constant, Value
from migrate.source.tensorflow.base.arguments import bind, string
from migrate.source.tensorflow.base.repeatable import is_repeatable, reads_plainly
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, known_values, source_of, symbol_of

#: TensorFlow's helper that makes an optimizer by its name, its parameters, and the classes that it knows.
PICKS = re.compile(r"tensorflow(_core|_estimator)?\.python\.estimator\.canned\.optimizers\.get_optimizer_instance")
BY_NAME = ("opt", "learning_rate")
_NAMES = {
    "Adagrad": "train.AdagradOptimizer",
    "Adam": "train.AdamOptimizer",
    "Ftrl": "train.FtrlOptimizer",
    "RMSProp": "train.RMSPropOptimizer",
    "SGD": "train.GradientDescentOptimizer",
}


def picks_by_name(file: File, node: cst.CSTNode) -> bool:
    """True for a call of the helper of TensorFlow's estimators that makes an optimizer by its name."""
    names = file.tree.imported_names(node.func)[0] if isinstance(node, cst.Call) else ()
    return bool(names) and all(PICKS.fullmatch(name) for name in names)


def named_class(file: File, call: cst.Call) -> str | None:
    """Return the canonical name of the class that this helper instantiates; None if the source does not decide it."""
    bound = bind(call, BY_NAME) if picks_by_name(file, call) else None
    if bound is None or len(bound) != len(BY_NAME):
        return None
    values = flow_of(file).values(bound["opt"].value)
    texts = (string(value.node) if isinstance(value, Constant) else None for value in values)
    names = {_NAMES.get(text or "") for text in texts}
    return names.pop() if len(names) == 1 else None


def chosen_classes(file: File, call: cst.Call, known: Container[str]) -> list[str]:
    """Return the canonical names of the classes that `call` may instantiate; empty if not all are `known`.

    It must be possible to evaluate the callee and the arguments twice.
    """
    func = call.func
    if file.names.of(func) is not None or not _is_plain(func) or not reads_plainly(file, call):
        return []
    if not all(is_repeatable(arg.value) for arg in call.args):
        return []
    entries = [[symbol_of(value) for value in _in_order(file, one)] for one in _entries(file, func)]
    names = dict.fromkeys(name for one in entries for name in one if name is not None)
    found = all(entries) and all(name is not None and name in known for one in entries for name in one)
    return list(names) if found else []


def _in_order(file: File, node: cst.BaseExpression) -> list[Value]:
    return sorted(known_values(file, node), key=lambda one: file.tree.span(source_of(file, one, node))[0])


def _entries(file: File, func: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the possible callees; for a dict, all of its entries, whatever the key is."""
    flow = flow_of(file)
    ways = [flow.path(value, func) for value in known_values(file, func)]
    read = [place for way in ways for place in way if isinstance(place, cst.Subscript | cst.Call)]
    held = {value for place in read for value in flow.values(_container(place))}
    shown = [value.node for value in held if isinstance(value.node, cst.Dict)]
    return [entry.value for one in shown for entry in one.elements] or [func]


def _container(place: cst.Subscript | cst.Call) -> cst.BaseExpression:
    """Return the dict of `d[key]` and `d.get(key)`; for another call, the function."""
    inner = place.value if isinstance(place, cst.Subscript) else place.func
    return inner.value if isinstance(place, cst.Call) and isinstance(inner, cst.Attribute) else inner


def _is_plain(func: cst.BaseExpression) -> bool:
    """True for expressions that can be evaluated twice: names, entries, and `d.get(key)`."""
    if isinstance(func, cst.Call):
        gets = isinstance(func.func, cst.Attribute) and func.func.attr.value == "get"
        return gets and len(func.args) == 1 and is_repeatable(func.args[0].value)
    return isinstance(func, cst.Name | cst.Attribute | cst.Subscript | cst.IfExp) and is_repeatable(func)
