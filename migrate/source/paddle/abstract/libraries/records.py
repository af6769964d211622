"""Data classes: Python itself makes their constructors, from the fields that the program declares."""

from __future__ import annotations

import ast
import collections
import dataclasses

from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Api, Class, Instance, Refuse, Value, words

_DECORATOR = "dataclasses.dataclass"
_HEEDED = words("init kw_only eq frozen")  #: arguments of the decorator that change what an object does here


def named_tuple(run: Run, node: ast.ClassDef, bases: tuple[Value, ...], constants: dict[str, Value]) -> Value:
    """Return the named tuple that a class is: one of `typing.NamedTuple`, or derived without code; else None."""
    base = bases[0] if len(bases) == 1 else None
    derived = isinstance(base, type) and hasattr(base, "_fields")
    if not derived and not (isinstance(base, Api) and base.name == "typing.NamedTuple"):
        return None
    if any(isinstance(one, ast.FunctionDef) for one in node.body):
        raise Refuse("a named tuple with methods is not supported; write a data class")
    if derived:
        return base
    fields = [one.target.id for one in node.body if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name)]
    return collections.namedtuple(  # the program tells the fields
        node.name, fields, defaults=[constants[name] for name in fields if name in constants]
    )


def declare(run: Run, cls: Class) -> None:
    """Give a class its fields, if it is decorated as a data class."""
    for decorator in cls.node.decorator_list:
        called = isinstance(decorator, ast.Call)
        name = run.evaluate(decorator.func if isinstance(decorator, ast.Call) else decorator)
        if not isinstance(name, Api) or name.name != _DECORATOR:
            raise Refuse(f"the decorator `{ast.unparse(decorator)}` of a class is not supported; leave it out")
        keywords = decorator.keywords if called and isinstance(decorator, ast.Call) else []
        options = {one.arg: run.evaluate(one.value) for one in keywords if one.arg in _HEEDED}
        bases = tuple(base.plain for base in cls.bases if isinstance(base, Class) and base.plain is not None)
        cls.plain = dataclasses.make_dataclass(cls.name, _fields(cls), bases=bases, **options)
        for field in dataclasses.fields(cls.plain):  # the class has the default, not what declares it
            if isinstance(cls.constants.get(field.name), dataclasses.Field):
                default = cls.constants.pop(field.name).default
                cls.constants |= {} if default is dataclasses.MISSING else {field.name: default}


def _fields(cls: Class) -> list[Value]:
    fields: list[Value] = []
    for item in cls.node.body:
        if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name):
            kind, name = ast.unparse(item.annotation), item.target.id
            if "InitVar" in kind:
                raise Refuse("`InitVar` of a data class is not supported; write its `__init__` out")
            if "ClassVar" not in kind:
                default = (cls.constants[name],) if item.value is not None else ()
                fields.append((name, object, *default))
    return fields


def constructor(cls: Class, after: Class | None = None) -> type[Value] | None:
    """Return the data class whose constructor a class has; None where one that is written out is nearer, or none is.

    With `after` it is the constructor that `super()` finds in a method of that class.
    """
    written = cls.find("__init__", after)
    for owner in cls.order[cls.order.index(after) + 1 :] if after is not None else cls.order:
        if written is not None and owner is written[1]:
            return None
        if owner.plain is not None and "__init__" in vars(owner.plain):
            return owner.plain
    return None


def fill(instance: Instance, plain: type[Value], positional: list[Value], keywords: dict[str, Value]) -> None:
    """Set the attributes of an object as the constructor of a data class does; raises TypeError as Python."""
    instance.attributes |= vars(plain(*positional, **keywords))


def compared(value: Instance) -> Value:
    """Return what stands for an object in a comparison: of a data class its class and fields."""
    plains = (cls.plain for cls in value.cls.order if cls.plain is not None)
    plain = next((one for one in plains if one.__dataclass_params__.eq), None)
    if plain is None:
        return value
    return id(value.cls), {one.name: value.attributes[one.name] for one in dataclasses.fields(plain) if one.compare}


def fields_of(value: Value) -> dict[str, Value]:
    """Return the fields of an object of a data class by name; raises `Refuse` for another object."""
    if _plain(value) is None:
        raise Refuse("this function takes an object of a data class")
    return {field.name: value.attributes[field.name] for field in dataclasses.fields(_plain(value))}


def _plain(value: Value) -> Value:
    own = value.cls.order if isinstance(value, Instance) else ()
    return next((cls.plain for cls in own if cls.plain is not None), None)


def as_dict(value: Value) -> Value:
    """Return what `dataclasses.asdict` does: objects in fields, lists and dicts are dicts, too."""
    return {name: _inner(item) for name, item in fields_of(value).items()}


def _inner(value: Value) -> Value:
    if _plain(value) is not None:
        return as_dict(value)
    if isinstance(value, (list, tuple)):
        return [_inner(item) for item in value] if isinstance(value, list) else tuple(_inner(item) for item in value)
    return {key: _inner(item) for key, item in value.items()} if isinstance(value, dict) else value
