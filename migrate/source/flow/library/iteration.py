"""Models of builtin functions that iterate over their arguments: `list`, `zip`, `map`, `sum` and others."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from migrate.source.flow.arguments import Arguments, Given
from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.library.containers import new_holder, only, ordered_by
from migrate.source.flow.values import ANY, Computed, From, Holder, Value

#: Models one call: gets the engine, the arguments, the call site and the variable of the result.
Read = Callable[[Calls, Arguments, cst.CSTNode, Variable], None]


def _list(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `list(x)` and `tuple(x)`, which keep the order."""
    holder = new_holder(calls, site, "list", out)
    for argument in arguments[:1]:
        items = calls.entries.items(argument.variable, argument.node or site)

        def arrived(value: Value, items: Variable = items, argument: Given = argument) -> None:
            if isinstance(value, Holder) and value.kind in {"list", "record"}:
                calls.entries.copy(only(calls, value), holder)
            else:
                calls.graph.edge(items, calls.program.written(holder, ANY))

        calls.graph.watch(argument.variable, arrived)


def _shuffled(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `sorted(x)`, `set(x)` and similar functions, which lose the order."""
    holder = new_holder(calls, site, "list", out)
    for argument in arguments[:1]:
        items = calls.entries.items(argument.variable, argument.node or site)
        calls.graph.edge(items, calls.program.written(holder, ANY))
        ordered_by(calls, arguments, items, site)


def _iter(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `iter(x)`, and `iter(f, end)`, which calls `f`."""
    if len(arguments) < 2:
        _shuffled(calls, arguments, site, out)
        return
    holder = new_holder(calls, site, "list", out)
    calls.call(arguments[0].variable, (), site, calls.program.written(holder, ANY))


def _chain(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder = new_holder(calls, site, "list", out)
    for argument in arguments:
        items = calls.entries.items(argument.variable, argument.node or site)
        if argument.star:
            items = calls.entries.items(items, argument.node or site)
        calls.graph.edge(items, calls.program.written(holder, ANY))


def _sum(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `sum(x, start)`: a number, or the concatenation of lists."""
    holder = new_holder(calls, site, "list", out)
    calls.graph.put(out, calls.program.made(("sum", site), lambda: Computed(site)))
    for position, argument in enumerate(arguments):
        items = calls.entries.items(argument.variable, argument.node or site)
        if position == 0:
            calls.graph.watch(items, lambda value: calls.escapes.reach(value, site))
            items = calls.entries.items(items, argument.node or site)
        calls.graph.edge(items, calls.program.written(holder, ANY))


def _next(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    calls.graph.edge(calls.entries.items(arguments[0].variable, arguments[0].node or site), out)
    for argument in arguments[1:]:
        calls.graph.edge(argument.variable, out)


def _enumerate(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder, pair = new_holder(calls, site, "list", out), calls.program.holder(site, "list", "pair")
    calls.graph.put(calls.program.written(holder, ANY), pair)
    calls.graph.put(calls.program.written(pair, 0), calls.program.made(("number", site), lambda: Computed(site)))
    items = calls.entries.items(arguments[0].variable, arguments[0].node or site)
    calls.graph.edge(items, calls.program.written(pair, 1))


def _zip(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    if len(arguments) == 1 and arguments[0].star:
        _transposed(calls, arguments[0], site, out)
        return
    holder, pair = new_holder(calls, site, "list", out), calls.program.holder(site, "list", "pair")
    calls.graph.put(calls.program.written(holder, ANY), pair)
    starred = any(argument.star for argument in arguments)
    for position, argument in enumerate(arguments):
        items = calls.entries.items(argument.variable, argument.node or site)
        if argument.star:
            items = calls.entries.items(items, argument.node or site)
        calls.graph.edge(items, calls.program.written(pair, ANY if starred else position))


def _transposed(calls: Calls, argument: Given, site: cst.CSTNode, out: Variable) -> None:
    """Model `zip(*rows)`: tells apart the first column, the second one, and all that follow."""
    holder, items = new_holder(calls, site, "list", out), calls.entries.items(argument.variable, argument.node or site)
    for key in (0, 1, From(2)):
        column = calls.program.holder(site, "list", ("column", key))
        calls.graph.put(calls.program.written(holder, key), column)
        entry = key if isinstance(key, int) else ANY
        calls.entries.item(items, entry, calls.program.written(column, ANY), site)


def _map(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder = new_holder(calls, site, "list", out)
    given = [Given(calls.entries.items(argument.variable, argument.node or site)) for argument in arguments[1:]]
    calls.call(arguments[0].variable, given, site, calls.program.written(holder, ANY))


def _filter(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder = new_holder(calls, site, "list", out)
    for argument in arguments[1:2]:
        items = calls.entries.items(argument.variable, argument.node or site)
        calls.graph.edge(items, calls.program.written(holder, ANY))
        calls.call(arguments[0].variable, [Given(items)], site, Variable())


def _any_of(calls: Calls, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model `max` and `min`: return one of the arguments, or an entry of the only one."""
    plain = [argument for argument in arguments if not argument.keyword]
    for argument in plain:
        if len(plain) > 1 and not argument.star:
            calls.graph.edge(argument.variable, out)
        else:
            calls.graph.edge(calls.entries.items(argument.variable, argument.node or site), out)
    ordered_by(calls, arguments, out, site)
    for argument in arguments:
        if argument.keyword == "default":
            calls.graph.edge(argument.variable, out)


ITERATING: dict[str, Read] = {
    "builtins.enumerate": _enumerate,
    "builtins.filter": _filter,
    "builtins.frozenset": _shuffled,
    "builtins.iter": _iter,
    "builtins.list": _list,
    "builtins.map": _map,
    "builtins.max": _any_of,
    "builtins.min": _any_of,
    "builtins.next": _next,
    "builtins.reversed": _shuffled,
    "builtins.set": _shuffled,
    "builtins.sorted": _shuffled,
    "builtins.sum": _sum,
    "builtins.tuple": _list,
    "builtins.zip": _zip,
    "collections.deque": _list,
    "itertools.chain": _chain,
}
