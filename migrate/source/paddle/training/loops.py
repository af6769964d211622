"""Loops and comprehensions of a trainer, including those with an unknown number of iterations."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager

from migrate.source.paddle.mapping.values import Value
from migrate.source.paddle.training.following import Following
from migrate.source.paddle.training.values import (
    BATCH,
    METRICS,
    Computed,
    Fed,
    Feeds,
    Many,
    Metrics,
    Returned,
    is_metrics,
    is_plain,
)

MOST_ITEMS = 1000
_EACH = Fed(-1)  #: represents any item of a batch; not a valid index
_COUNTING = {"len": Computed(), "range": Many(Computed())}


@contextmanager
def unsure(at: Following) -> Iterator[None]:
    """Interpret code that may run any number of times, and must not change lists or dicts."""
    at.unsure += 1
    try:
        yield
    finally:
        at.unsure -= 1


def repeat(at: Following, node: ast.For, items: Many | Metrics) -> None:
    """Interpret the body of a loop with an unknown number of iterations; its variables become computed values."""
    bound = {item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
    for _ in range(2):  # the second iteration sees the variables of the first
        before = dict(at.names)
        try:
            with unsure(at):
                at.assign(node.target, items.item if isinstance(items, Many) else METRICS)
                at.body(node.body)
        except Returned as returned:
            at.problem(returned.node, "it is unknown whether this loop of the trainer returns")
        for name in bound & at.names.keys():
            both = [before.get(name, METRICS), at.names[name]]
            same = all(isinstance(value, Metrics) for value in both)
            at.names[name] = METRICS if same else at.computed(node, *both)
    at.body(node.orelse)


def many(at: Following, node: ast.AST, name: str, values: list[Value]) -> Value | None:
    """Return the result of a builtin for sequences of unknown length; None if no argument is one."""
    if name == "range" and not all(map(is_plain, values)):
        return _COUNTING[name]
    if not any(isinstance(value, Many | Metrics) for value in values):
        return None
    items = [_each(at, node, value) for value in values]
    if name == "enumerate":
        return Many((Computed(), items[0]))
    if name == "zip":
        return Many(tuple(items))
    return Many(items[0]) if name in {"list", "tuple", "reversed"} else _COUNTING.get(name)


def _each(at: Following, node: ast.AST, value: Value) -> Value:
    if isinstance(value, Many):
        return value.item
    return value if isinstance(value, Metrics) else at.computed(node, value)


def comprehension(at: Following, node: ast.ListComp | ast.SetComp | ast.GeneratorExp) -> Value:
    """Return the items of a comprehension; its element is interpreted even if the items are unknown."""
    outer = dict(at.names)
    try:
        return _turns(at, node, [node.elt], node.generators)
    finally:
        at.names.clear()
        at.names.update(outer)


def mapping(at: Following, node: ast.DictComp) -> Value:
    """Interpret a dict comprehension; its result is a computed value."""
    outer = dict(at.names)
    try:
        return at.computed(node, _turns(at, node, [node.key, node.value], node.generators))
    finally:
        at.names.clear()
        at.names.update(outer)


def _turns(at: Following, node: ast.expr, parts: list[ast.expr], generators: list[ast.comprehension]) -> Value:
    if not generators:
        values = [at.value(part) for part in parts]
        return values if len(values) > 1 else values[0]
    generator, inner = generators[0], generators[1:]
    items = at.value(generator.iter)
    if not isinstance(items, list | tuple | range | dict) or len(items) > MOST_ITEMS:
        return _unknown(at, node, items, parts, generators)
    found: list[Value] = []
    for item in list(items):
        at.assign(generator.target, item)
        test = _test(at, generator)
        if not is_plain(test):
            return _unknown(at, node, Many(at.computed(node, list(items))), parts, generators)
        if test:
            made = _turns(at, node, parts, inner)
            if inner and not isinstance(made, list):
                return _unknown(at, node, Many(at.computed(node, list(items))), parts, generators)
            found += made if inner else [made]
    return found


def _test(at: Following, generator: ast.comprehension) -> Value:
    tests = [at.value(test) for test in generator.ifs]
    return next((test for test in tests if not is_plain(test)), all(tests))


def _unknown(
    at: Following, node: ast.expr, items: Value, parts: list[ast.expr], generators: list[ast.comprehension]
) -> Value:
    """Interpret one iteration that represents all."""
    feeds = Feeds() if items is BATCH else items
    item = _EACH if isinstance(feeds, Feeds) else _each(at, node, items)
    with unsure(at):
        at.assign(generators[0].target, item)
        tests = [at.value(test) for test in generators[0].ifs]
        made = _turns(at, node, parts, generators[1:])
    if isinstance(feeds, Feeds) and isinstance(made, Fed) and made.index == _EACH.index and len(generators) == 1:
        return at.computed(node, made, *tests) if tests else Feeds(feeds.start, made.width, made.whole)
    return Many(METRICS) if is_metrics(made) and made is not None else at.computed(node, items, made, *tests)
