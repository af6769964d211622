"""Optimizers whose class is chosen: from a dict, by a condition, or by what a class or its heirs set."""

from __future__ import annotations

from collections.abc import Container, Iterator

import libcst as cst

from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.possible import possible
from migrate.source.frontends.tensorflow.shapes import is_repeatable, reads_plainly
from migrate.source.frontends.tensorflow.values import is_target, local_names, scope_of_name, single_value

#: Methods of a dict that change nothing.
READING = {"get", "keys", "values", "items", "copy"}


def chosen_classes(file: File, call: cst.Call, known: Container[str]) -> list[str]:
    """Return the canonical names of the classes of which `call` makes an object; nothing if not all are `known`.

    What is called, and what it is given, can be written twice.
    """
    func = call.func
    if file.names.of(func) is not None or not _is_plain(func) or not reads_plainly(file, call):
        return []
    if not all(is_repeatable(arg.value) for arg in call.args):
        return []
    found: dict[str, None] = {}
    for value in _values(file, func):
        name = file.names.of(value) if value is not None else None
        if value is None or name is None or name not in known:
            return []
        found[name] = None
    return list(found)


def _is_plain(func: cst.BaseExpression) -> bool:
    """True for what can be read twice: names, entries, and `d.get(key)`."""
    if isinstance(func, cst.Call):
        gets = isinstance(func.func, cst.Attribute) and func.func.attr.value == "get"
        return gets and len(func.args) == 1 and is_repeatable(func.args[0].value)
    return isinstance(func, cst.Name | cst.Attribute | cst.Subscript | cst.IfExp) and is_repeatable(func)


def _values(file: File, func: cst.BaseExpression) -> Iterator[cst.BaseExpression | None]:
    """Yield what is called, entries of dicts included; None for what is not known."""
    for value in possible(file, func):
        held = value.value if isinstance(value, cst.Subscript) else None
        if isinstance(value, cst.Call) and _is_plain(value) and isinstance(value.func, cst.Attribute):
            held = value.func.value
        if held is None:
            yield value
            continue
        entries = _entries(file, held)
        if not entries:
            yield None
        for entry in entries:
            yield from possible(file, entry)


def _entries(file: File, held: cst.BaseExpression) -> list[cst.BaseExpression]:
    """Return the values of a dict that nothing changes; nothing when that is not seen."""
    shown = held if isinstance(held, cst.Dict) else _unchanged(file, held)
    if not isinstance(shown, cst.Dict) or not all(isinstance(one, cst.DictElement) for one in shown.elements):
        return []
    return [one.value for one in shown.elements]


def _unchanged(file: File, held: cst.BaseExpression) -> cst.BaseExpression | None:
    scope = scope_of_name(file.tree, held) if isinstance(held, cst.Name) else None
    if scope is None or not isinstance(held, cst.Name):
        return None
    uses = [*local_names(file.tree, held.value, scope), *file.tree.elsewhere(held, scope)]
    return single_value(file.tree, held) if all(_is_read(file, use) for use in uses) else None


def _is_read(file: File, use: cst.BaseExpression) -> bool:
    """True for a mention of a dict that does not change it, nor hands it on."""
    around = file.tree.parent(use)
    if isinstance(around, cst.Subscript) and around.value is use:
        return not is_target(file.tree, around)
    if isinstance(around, cst.Attribute) and around.value is use:
        return around.attr.value in READING
    return isinstance(around, cst.AssignTarget | cst.ComparisonTarget | cst.For | cst.CompFor)
