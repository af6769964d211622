"""Binds the arguments of a call to the parameters of a function of the program."""

from __future__ import annotations

import ast

from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Function, Refuse, Value


def bind(run: Run, function: Function, positional: list[Value], keywords: dict[str, Value]) -> dict[str, Value]:
    """Return parameter name -> value, for a call of a function of the program; raises `Refuse`."""
    spec, name = function.node.args, function.name
    plain = [item.arg for item in [*spec.posonlyargs, *spec.args]]
    names = plain + [item.arg for item in spec.kwonlyargs]
    if len(positional) > len(plain) and spec.vararg is None:
        raise Refuse(f"`{name}` takes {len(plain)} arguments, but {len(positional)} are given")
    bound = dict(zip(plain, positional, strict=False))
    if spec.vararg is not None:
        bound[spec.vararg.arg] = tuple(positional[len(plain) :])
    rest: dict[str, Value] = {}
    for key, value in keywords.items():
        if key in names and key not in bound:
            bound[key] = value
        elif spec.kwarg is not None and key not in names:
            rest[key] = value
        else:
            raise Refuse(f"`{name}` has no parameter `{key}`, or it is given twice")
    if spec.kwarg is not None:
        bound[spec.kwarg.arg] = rest
    _fill_defaults(run, function, bound)
    missing = [key for key in names if key not in bound]
    if missing:
        raise Refuse(f"`{name}` has no value for `{missing[0]}`")
    return bound


def _fill_defaults(run: Run, function: Function, bound: dict[str, Value]) -> None:
    spec = function.node.args
    plain = [*spec.posonlyargs, *spec.args]
    pairs: list[tuple[ast.arg, ast.expr]] = list(
        zip(plain[len(plain) - len(spec.defaults) :], spec.defaults, strict=True)
    )
    pairs += [(item, default) for item, default in zip(spec.kwonlyargs, spec.kw_defaults, strict=True) if default]
    for parameter, default in pairs:
        if parameter.arg not in bound:
            if id(default) not in run.defaults:
                run.defaults[id(default)] = run.evaluate_in(function.module, default)
                run.lasting.keep(run.defaults[id(default)])
            bound[parameter.arg] = run.defaults[id(default)]
