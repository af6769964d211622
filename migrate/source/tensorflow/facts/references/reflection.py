"""Reflective access to attributes: `x.__dict__`, `vars(x)`, `getattr(x, name)` and similar code.

Such code may read a table held in an attribute, from the class itself, another class or another file.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from libcst.metadata import QualifiedNameSource

from migrate.source.flow import Above, Class, Holder, Member, Result, Symbol, Unknown, Value
from migrate.source.tensorflow.base.arguments import last_name, string
from migrate.source.tensorflow.base.bindings import SETTINGS, is_variable
from migrate.source.tensorflow.base.cached_query import once
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import flow_of, root_of, sources
from migrate.source.tensorflow.facts.calls.object_attributes import relatives

#: Functions that return all attributes of an object.
ALL = {"vars", "getmembers", "getmembers_static"}
#: Functions that take an object and the name of an attribute.
NAMED = {"getattr", "setattr", "delattr"}
PARSERS = {"parse_args", "parse_known_args"}
#: Functions that return modules, which have no attributes of objects.
IMPORTS = {"import_module", "__import__"}


def reflections(file: File, cls: cst.ClassDef, name: str) -> Iterator[tuple[cst.BaseExpression, bool]]:
    """Yield the expressions that may access the attribute `name` of objects of `cls` by reflection.

    Each comes with whether its object is known to be of `cls` or a related class; objects known to be of another class
    are left out.
    """
    family = relatives(file, cls)
    for node, subject, key in once(file, ("reflective places",), lambda: list(_places(file))):
        if not file.tree.related(node, cls) or not _may_be_named(file, key, name):
            continue
        known = _is_of(file, subject, family) if subject is not None else None
        if known is not False:
            yield node, bool(known)


def _places(file: File) -> Iterator[tuple[cst.BaseExpression, cst.BaseExpression | None, cst.BaseExpression | None]]:
    """Yield the reflective expressions, each with the object and the attribute's name where they are known."""
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
    """Return the last part of the callee's name, with an import alias (`as`) resolved."""
    name = last_name(call.func)
    if not isinstance(call.func, cst.Name) or name not in file.tree.aliases:
        return name
    imported, _ = file.tree.imported_names(call.func)
    return next(iter(sorted(imported)), name).rpartition(".")[2]


def _is_handed_on(file: File, use: cst.Name) -> bool:
    """True for a builtin or imported function that is passed on rather than called, as in `map(vars, models)`."""
    around = file.tree.parent(use)
    if not is_variable(file.tree, use) or (isinstance(around, cst.Call) and around.func is use):
        return False
    scope = file.tree.scope(use)
    known = scope.get_qualified_names_for(use) if scope is not None else set()
    return bool(known) and all(one.source is not QualifiedNameSource.LOCAL for one in known)


def _may_be_named(file: File, key: cst.BaseExpression | None, name: str) -> bool:
    """True if the attribute's name is computed, or a variable that may be `name`; literals are handled elsewhere."""
    if key is None:
        return True
    direct = string(key)
    if direct is not None and "." not in direct:
        return False
    texts = [string(one) for one in sources(file, key)]
    return any(text is None or name in text.split(".") for text in texts)


def _is_of(file: File, node: cst.BaseExpression, family: list[cst.ClassDef]) -> bool | None:
    """Return whether an expression is an instance of one of the classes; None if that is not known."""
    found = [_is_one(file, node, value, family) for value in flow_of(file).values(node)]
    if any(found):
        return True
    return None if None in found else False


def _is_one(file: File, node: cst.BaseExpression, value: Value, family: list[cst.ClassDef]) -> bool | None:
    if isinstance(value, Holder):
        return value.cls is not None and any(value.cls.node is one for one in family)
    if isinstance(value, Above | Class):
        cls = value.cls if isinstance(value, Above) else value
        return any(cls.node is one for one in family)
    if isinstance(value, Result) and isinstance(value.node, cst.Call):
        func = value.node.func
        return False if last_name(func) in PARSERS | IMPORTS or file.names.of(func) is not None else None
    if isinstance(value, Unknown | Member):
        settings = isinstance(node, cst.Name | cst.Attribute) and SETTINGS.fullmatch(last_name(node))
        return False if settings or isinstance(root_of(value), Symbol) else None
    return False
