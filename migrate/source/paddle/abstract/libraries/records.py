"""Data classes: Python itself makes their constructors, from the fields that the program declares."""

from __future__ import annotations

import ast
import dataclasses

from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Api, Class, Instance, Refuse, Value

_DECORATOR = "dataclasses.dataclass"
_CONSTRUCTION = frozenset({"init", "kw_only"})  #: arguments of the decorator that change what a constructor takes


def declare(run: Run, cls: Class) -> None:
    """Give a class its fields, if it is decorated as a data class."""
    for decorator in cls.node.decorator_list:
        called = isinstance(decorator, ast.Call)
        name = run.evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if not isinstance(name, Api) or name.name != _DECORATOR:
            continue
        keywords = decorator.keywords if called and isinstance(decorator, ast.Call) else []
        given = {one.arg: run.evaluate(one.value) for one in keywords if one.arg in _CONSTRUCTION}
        bases = tuple(base.plain for base in cls.bases if isinstance(base, Class) and base.plain is not None)
        cls.plain = dataclasses.make_dataclass(cls.name, _fields(cls), bases=bases, eq=False, **given)


def _fields(cls: Class) -> list[Value]:
    found: list[Value] = []
    for item in cls.node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            kind, name = ast.unparse(item.annotation), item.target.id
            if "InitVar" in kind:
                raise Refuse("`InitVar` of a data class is not supported; write its `__init__` out")
            if "ClassVar" not in kind:
                default = (cls.constants[name],) if item.value is not None else ()
                found.append((name, object, *default))
    return found


def fill(made: Instance, positional: list[Value], keywords: dict[str, Value]) -> None:
    """Set the attributes of an object as the constructor of its data class does; raises TypeError as Python."""
    assert made.cls.plain is not None
    made.attributes |= vars(made.cls.plain(*positional, **keywords))


def fields_of(value: Value) -> dict[str, Value]:
    """Return the fields of an object of a data class by name; raises `Refuse` for another object."""
    plain = value.cls.plain if isinstance(value, Instance) else None
    if plain is None:
        raise Refuse("this function takes an object of a data class")
    return {field.name: value.attributes[field.name] for field in dataclasses.fields(plain)}


def as_dict(value: Value) -> Value:
    """Return what `dataclasses.asdict` does: objects in fields, lists and dicts are dicts, too."""
    return {name: _inner(item) for name, item in fields_of(value).items()}


def _inner(value: Value) -> Value:
    if isinstance(value, Instance) and value.cls.plain is not None:
        return as_dict(value)
    if isinstance(value, list | tuple):
        return type(value)(_inner(item) for item in value)
    return {key: _inner(item) for key, item in value.items()} if isinstance(value, dict) else value
