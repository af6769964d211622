"""The classes of values, as `type` tells them."""

from __future__ import annotations

import ast

import numpy as np

from migrate.source.paddle.abstract.run import Frame, Run
from migrate.source.paddle.abstract.values import (
    Api,
    Class,
    Container,
    Described,
    Function,
    Instance,
    LayerValue,
    Module,
    OneHot,
    Refuse,
    Stop,
    Unknown,
    Value,
    words,
)

TYPES = {
    one.__name__: one for one in (list, tuple, int, float, str, dict, bool, set, frozenset, bytes, complex, object)
}


def not_one_hot(value: Value) -> None:
    """Raise `Refuse` for a question about a one-hot input, which is a tensor in Paddle and none in what is written."""
    if isinstance(value, OneHot):
        raise Refuse("only `nn.Linear` may read the one-hot input, and this asks what kind of value it is")


def class_name(value: Value) -> str:
    """Return the dotted name of the class that Paddle gives a value; empty for others."""
    if isinstance(value, Container):
        return f"paddle.nn.{value.kind}"
    return str(getattr(value, "name", "")) if isinstance(value, (LayerValue, Described)) else ""


def class_of(value: Value) -> Value:
    """Return the class of a value, as `type` does; raises `Refuse` where what is written has another one."""
    not_one_hot(value)
    if isinstance(value, Instance):
        return value.cls
    if (name := class_name(value)) or isinstance(value, np.ndarray):
        return Api(name or "numpy.ndarray")
    if type(value).__name__ in TYPES:
        return Api(f"builtins.{type(value).__name__}")
    if value is None or isinstance(value, (tuple, Exception)):  # a named tuple, or an error that is caught
        return type(value)
    raise Refuse("`type` of a tensor, a size or a function is another in a graph; use `isinstance`")


#: Decorators without effect on values. Those of Paddle are not written, `no_grad` has a counterpart.
WITHOUT_EFFECT = frozenset({"paddle.jit.to_static", "paddle.jit.not_to_static"})
_KEPT = words(
    "builtins.property builtins.staticmethod builtins.classmethod functools.cached_property functools.wraps "
    "functools.lru_cache functools.cache abc.abstractmethod typing.overload"
)
_OF_PROPERTIES = frozenset({"setter", "getter", "deleter"})


def decorated(run: Run, node: ast.AST, function: Function, module: Module) -> Value:
    """Return what the decorators of a function make of it.

    Raises:
        Stop: one is not supported; the problem is recorded at its line.
    """
    assert isinstance(function.node, ast.FunctionDef)
    wrapped: Value = function
    for decorator in reversed(function.node.decorator_list):
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        if isinstance(called, ast.Attribute) and called.attr in _OF_PROPERTIES:
            continue
        value = run.evaluate_in(module, called)
        if isinstance(value, (Function, Class)):
            wrapped = run.call(node, run.evaluate_in(module, decorator), [wrapped], {})
        elif not _changes_nothing(value, called is not decorator):
            _refuse(run, module, decorator, value)
    return wrapped


def _changes_nothing(value: Value, is_called: bool) -> bool:
    name = value.name if isinstance(value, (Api, Described)) else ""
    return name in _KEPT | WITHOUT_EFFECT or (name == "paddle.no_grad" and is_called)


def _refuse(run: Run, module: Module, decorator: ast.expr, value: Value) -> None:
    if not isinstance(value, Unknown):
        run.frames.append(Frame(module, run.frame.scope))
        remedy = "write `@paddle.no_grad()`" if getattr(value, "name", "") == "paddle.no_grad" else "leave it out"
        run.problem(decorator, f"the decorator `{ast.unparse(decorator)}` is not supported; {remedy}")
        run.frames.pop()
    raise Stop
