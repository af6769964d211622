"""Containers: `nn.Sequential`, `nn.LayerList`, `nn.LayerDict` and `nn.ParameterList`."""

from __future__ import annotations

import ast

from migrate.source.paddle.abstract.attributes import is_layer
from migrate.source.paddle.abstract.run import Run
from migrate.source.paddle.abstract.values import Container, Refuse, Unknown, Value, Weight


def make(run: Run, node: ast.AST, kind: str, positional: list[Value], keywords: dict[str, Value]) -> Value:
    """Make a container with the layers or parameters that it is given."""
    result = Container(*run.place(node), kind=kind)
    run.made.append(result)
    if kind == "LayerDict":
        for name, item in dict(positional[0] if positional else {}).items():
            hold(result, name, item)
        return result
    items = positional
    if kind != "Sequential":
        items = (
            list(positional[0]) if positional and positional[0] is not None else list(next(iter(keywords.values()), []))
        )
    for item in items:
        if isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str):
            hold(result, *item)
        else:
            _append(result, item)
    return result


def hold(target: Container, name: str, item: Value) -> None:
    """Register what a container is given under a name; what is not known has been refused where it was made."""
    if isinstance(item, Unknown):
        return
    if target.kind == "ParameterList":
        if not isinstance(item, Weight):
            raise Refuse("an `nn.ParameterList` holds parameters")
        target.weights[name] = item
    elif not is_layer(item):
        raise Refuse(f"`nn.{target.kind}` holds layers, not {type(item).__name__}")
    else:
        target.sublayers[name] = item


def _append(target: Container, item: Value) -> None:
    hold(target, str(len(target.items)), item)


#: Methods of containers.
METHODS: dict[str, frozenset[str]] = {
    "Sequential": frozenset(),
    "LayerList": frozenset({"append", "extend", "insert"}),
    "ParameterList": frozenset({"append"}),
    "LayerDict": frozenset({"items", "keys", "values", "update", "pop", "clear"}),
}


def call(target: Container, name: str, positional: list[Value]) -> Value:
    """Call a method of a container; layers of lists are numbered in their order."""
    if name in {"items", "keys", "values"}:
        return list(getattr(target.sublayers, name)())
    if name == "update":
        given = positional[0]
        for key, item in dict(given.sublayers if isinstance(given, Container) else given).items():
            hold(target, key, item)
        return None
    if name in {"pop", "clear"}:
        return getattr(target.sublayers, name)(*positional)
    if name == "insert":
        items = target.items
        items.insert(*positional)
        target.sublayers.clear()
    else:
        given = positional[0]
        items = [given] if name == "append" else list(given.items if isinstance(given, Container) else given)
    for item in items:
        _append(target, item)
    return target
