"""Which class is the model, and what it is made with."""

from __future__ import annotations

import ast
from collections.abc import Mapping

from migrate.errors import MigrateError
from migrate.schema import Schema
from migrate.source.paddle.abstract.values import Class, Module, Value
from migrate.source.paddle.ops import registry


def model_class(schema: Schema, module: Module) -> Class:
    """Return the class of the model; raises `MigrateError` if that is not known."""
    classes = [value for value in module.names.values() if isinstance(value, Class) and value.derives(registry.LAYER)]
    if schema.model.name:
        for cls in classes:
            if cls.name == schema.model.name:
                return cls
        if isinstance(module.names.get(schema.model.name), Class):
            raise MigrateError(
                f"{schema.path}: `model.class` is `{schema.model.name}`, which does not derive from `nn.Layer` in "
                f"{module.path}; give a model, or define its base classes in the file"
            )
        raise MigrateError(
            f"{schema.path}: `model.class` is `{schema.model.name}`, but {module.path} does not define it; correct it"
        )
    used = {node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name)}
    top = [cls for cls in classes if cls.name not in used - _names_in_super(module)]
    if len(top) != 1:
        names = ", ".join(cls.name for cls in top) or "none"
        raise MigrateError(
            f"{schema.path}: {module.path} must have one model class (found: {names}); select it with `model.class`"
        )
    return top[0]


def _names_in_super(module: Module) -> set[str]:
    """Return the classes that are used only in their own body, as in `super(MMoELayer, self)`."""
    inside: set[str] = set()
    for node in module.tree.body:
        if isinstance(node, ast.ClassDef):
            own = sum(isinstance(item, ast.Name) and item.id == node.name for item in ast.walk(node))
            every = sum(isinstance(item, ast.Name) and item.id == node.name for item in ast.walk(module.tree))
            inside |= {node.name} if own == every else set()
    return inside


def arguments_of(schema: Schema, cls: Class, of_trainer: Mapping[str, Value]) -> dict[str, Value]:
    """Return what the model is made with: the arguments of the schema, and those of `create_model` that it lacks."""
    arguments = {name: value for name, value in of_trainer.items() if is_known(value)} | dict(schema.model.arguments)
    constructor = cls.find("__init__")
    if constructor is None:
        return arguments
    spec = constructor[0].args
    names = [item.arg for item in [*spec.args[1:], *spec.kwonlyargs]]
    required = [item.arg for item in spec.args[1 : len(spec.args) - len(spec.defaults)]]
    missing = [name for name in required if name not in arguments]
    if missing and not arguments:
        wanted = ", ".join(missing)
        raise MigrateError(f"{schema.path}: `model.arguments` is missing; give values for {wanted} of {cls.name}")
    _check(schema, cls, names, required, arguments)
    return arguments


def is_known(value: Value) -> bool:
    """Return whether a value is one that a schema may give."""
    return value is not None and is_plain(value)


def _check(schema: Schema, cls: Class, names: list[str], required: list[str], arguments: Mapping[str, Value]) -> None:
    for name in arguments:
        if name not in names:
            raise MigrateError(
                f"{schema.path}: `model.arguments` has `{name}`, which is no parameter of {cls.name}; "
                f"use {', '.join(names) or 'none'}"
            )
    for name in required:
        if name not in arguments:
            raise MigrateError(f"{schema.path}: `model.arguments` has no value for `{name}` of {cls.name}; add it")


def is_plain(value: Value) -> bool:
    """Return whether a value consists only of Python values, also inside lists, tuples and dicts."""
    if isinstance(value, (list, tuple)):
        return all(map(is_plain, value))
    if isinstance(value, dict):
        return all(map(is_plain, value.values()))
    return value is None or isinstance(value, (bool, int, float, str, range))
