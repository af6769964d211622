"""Code that reaches attributes of an object without their names: `x.__dict__`, `vars(x)`, `getattr(x, name)` and so on.

Such code may read a table that is held in an attribute, from the class itself, another class or another file.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import QualifiedNameSource

from migrate.source.frontends.tensorflow.args import string
from migrate.source.frontends.tensorflow.called import argument_of, calls_of, parameters
from migrate.source.frontends.tensorflow.callers import last_name
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.objects import class_named, relatives
from migrate.source.frontends.tensorflow.possible import possible
from migrate.source.frontends.tensorflow.values import SETTINGS, is_variable, self_name

#: Functions that give all attributes of an object.
ALL = {"vars", "getmembers", "getmembers_static"}
#: Functions that take an object and the name of an attribute.
NAMED = {"getattr", "setattr", "delattr"}
PARSERS = {"parse_args", "parse_known_args"}
DEPTH = 4


def reflections(file: File, cls: cst.ClassDef, name: str) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield the expressions that may reach the attribute `name` of objects of `cls` without its name.

    With each goes whether the object is certainly one of `cls` or its relatives; it is left out when it is another.
    """
    family = relatives(file, cls)
    for node, subject, key in _places(file):
        if not file.tree.related(node, cls) or not _may_be_named(file, key, name):
            continue
        known = _is_of(file, subject, family, DEPTH) if subject is not None else None
        if known is not False:
            yield node, bool(known)


def _places(file: File) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None, cst.BaseExpression | None]]:
    """Yield the reflecting expressions: the object, when it is seen, and the name that is asked, when one is."""
    for node in file.tree.attributes.get("__dict__", ()):
        around = file.tree.parent(node)
        index = around.slice[0].slice if isinstance(around, cst.Subscript) and len(around.slice) == 1 else None
        yield node, node.value, index.value if isinstance(index, cst.Index) else None
    for call in file.tree.calls:
        name, values = _called(file, call), [arg.value for arg in call.args]
        if name in ALL and values:
            yield call, values[0], None
        elif name in NAMED and len(values) > 1:
            yield call, values[0], values[1]
        elif name in {"__getattribute__", "__getattr__"} and values and isinstance(call.func, cst.Attribute):
            yield call, values[0] if len(values) > 1 else call.func.value, values[-1]
        elif name == "attrgetter":
            outer = file.tree.parent(call)
            called = isinstance(outer, cst.Call) and outer.func is call and len(outer.args) == 1
            for value in values:
                yield call, outer.args[0].value if called and isinstance(outer, cst.Call) else None, value
    for use in (one for name in (*ALL, *NAMED, "attrgetter") for one in file.tree.names.get(name, ())):
        if _is_handed_on(file, use):
            yield use, None, None


def _called(file: File, call: cst.Call) -> str:
    """Return the last name of what is called, as it is outside of the file that imports it by `as`."""
    name = last_name(call.func)
    if not isinstance(call.func, cst.Name) or name not in file.tree.aliases:
        return name
    imported, _ = file.tree.imported_names(call.func)
    return next(iter(sorted(imported)), name).rpartition(".")[2]


def _is_handed_on(file: File, use: cst.Name) -> bool:
    """True for a built-in or imported function that is not called at once, as in `map(vars, models)`."""
    around = file.tree.parent(use)
    if not is_variable(file.tree, use) or (isinstance(around, cst.Call) and around.func is use):
        return False
    scope = file.tree.scope(use)
    known = scope.get_qualified_names_for(use) if scope is not None else set()
    return bool(known) and all(one.source is not QualifiedNameSource.LOCAL for one in known)


def _may_be_named(file: File, key: cst.BaseExpression | None, name: str) -> bool:
    """True when the name that is asked is computed, or is `name` behind a variable; a plain text is seen elsewhere."""
    if key is None:
        return True
    direct = string(key)
    if direct is not None and "." not in direct:
        return False
    texts = [string(one) for one in possible(file, key)]
    return any(text is None or name in text.split(".") for text in texts)


def _is_of(file: File, node: cst.BaseExpression, family: list[cst.ClassDef], depth: int) -> bool | None:
    """Return whether an expression is an object of one of the classes; None when that is not known."""
    values = possible(file, node)
    found = [_is_one(file, value, family, depth) for value in values]
    if any(found):
        return True
    return None if None in found else False


def _is_one(file: File, value: cst.BaseExpression, family: list[cst.ClassDef], depth: int) -> bool | None:
    if isinstance(value, cst.Name) and (holder := _own_class(file, value)) is not None:
        return any(holder is one for one in family)
    if isinstance(value, cst.Call):
        return _made(file, value, family, depth)
    if isinstance(value, cst.BaseString | cst.BaseNumber | cst.Dict | cst.List | cst.Tuple | cst.Set):
        return False
    if _is_definition(file, value):
        return False
    if isinstance(value, cst.Name) and isinstance(file.tree.parent(value), cst.Param):
        known = _passed(file, value, family, depth)
        if known is not None:
            return known
    settings = isinstance(value, cst.Name | cst.Attribute) and SETTINGS.fullmatch(last_name(value))
    return False if settings else None


def _own_class(file: File, name: cst.Name) -> cst.ClassDef | None:
    """Return the class whose method's first parameter, `self`, is meant; None for any other name."""
    method: cst.FunctionDef | None = None
    for around in file.tree.ancestors(name):
        if isinstance(around, cst.FunctionDef):
            method = around
        if isinstance(around, cst.ClassDef):
            static = method is not None and any(last_name(d.decorator) == "staticmethod" for d in method.decorators)
            own = method is not None and not static and self_name(method) == name.value
            return around if own else None
    return None


def _is_definition(file: File, value: cst.BaseExpression) -> bool:
    """True for a class, a function or a module, whose own attributes are no tables of objects; also for `None`."""
    if isinstance(value, cst.Name) and (value.value == "None" or file.names.of(value) or file.names.is_module(value)):
        return True
    if isinstance(value, cst.Attribute) and value.attr.value == "__class__":
        return True
    if file.tree.named(value) is not None or class_named(file, value) is not None or file.names.of(value):
        return True
    imported, shadowed = file.tree.imported_names(value)
    return bool(imported) and not shadowed and not file.tree.is_inside(value)


def _made(file: File, call: cst.Call, family: list[cst.ClassDef], depth: int) -> bool | None:
    """Return whether a call gives an object of one of the classes."""
    made, name = class_named(file, call.func), last_name(call.func)
    if made is not None:
        return any(made is one for one in family)
    if name == "super":
        around = file.tree.enclosing(call, cst.ClassDef)
        return any(around is one for one in family)
    if name in PARSERS or (name == "type" and len(call.args) == 1) or file.names.of(call.func) is not None:
        return False
    imported, shadowed = file.tree.imported_names(call.func)
    if not imported or shadowed or file.tree.is_inside(call.func):
        return None
    given = [_is_of(file, arg.value, family, depth - 1) for arg in call.args] if depth else [None]
    return True if any(given) else None if None in given else False


def _passed(file: File, parameter: cst.Name, family: list[cst.ClassDef], depth: int) -> bool | None:
    """Return whether callers pass an object of one of the classes; None when that is not known."""
    function = file.tree.enclosing(parameter, cst.FunctionDef)
    calls = calls_of(file, function) if function is not None and depth else None
    if function is None or not calls:
        return None
    known = [*parameters(file, function), *function.params.kwonly_params]
    values = [argument_of(known, call, parameter.value) for call in calls]
    found = [_is_of(file, value, family, depth - 1) if value is not None else None for value in values]
    return True if any(found) else None if None in found else False
