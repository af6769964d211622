"""Models of the methods of lists, dicts and sets, and of functions that iterate: `list`, `zip`, `map`, `sum`."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import libcst as cst

from migrate.source.flow.arguments import Arguments, Given
from migrate.source.flow.calls import Calls
from migrate.source.flow.graph import Variable
from migrate.source.flow.keys import with_key
from migrate.source.flow.values import ANY, Computed, From, Holder, Member, Result, Value


def move(calls: Calls, arguments: Arguments) -> None:
    """Record that the arguments of a call only flow on to places that the engine tracks."""
    for argument in arguments:
        if argument.node is not None:
            calls.program.moves.add(argument.node)


def external_result(calls: Calls, name: str, site: cst.CSTNode, out: Variable) -> None:
    """Add what an external function gives to `out`."""
    callee = calls.program.symbol(name)
    calls.graph.put(out, calls.program.interned(("result", site, callee), lambda: Result(site, callee)))


def new_holder(calls: Calls, site: cst.CSTNode, kind: str, out: Variable) -> Holder:
    """Create the list, dict or namespace that a call returns, and add it to `out`."""
    holder = calls.program.holder(site, kind, "built")
    calls.graph.put(out, holder)
    return holder


def only(calls: Calls, value: Value) -> Variable:
    """Return a variable whose points-to set contains one value only."""
    variable = calls.program.named(("only", id(value)))
    calls.graph.put(variable, value)
    return variable


def ordered_by(calls: Calls, arguments: Arguments, items: Variable, site: cst.CSTNode) -> None:
    """Call the function that is passed as `key=` or `cmp=` with the entries."""
    for argument in arguments:
        if argument.keyword in {"key", "cmp"}:
            calls.call(
                argument.variable, [Given(items), Given(items)][: 1 + (argument.keyword == "cmp")], site, Variable()
            )


def merge(calls: Calls, argument: Given, holder: Holder, site: cst.CSTNode) -> None:
    """Add the entries of a dict, or of a list of pairs, to `holder`."""

    def arrived(value: Value) -> None:
        if isinstance(value, Holder) and value.kind == "list":
            items = calls.entries.items(only(calls, value), site)
            calls.entries.item(items, 1, calls.program.written(holder, ANY), site)
        else:
            calls.entries.copy(only(calls, value), holder)

    calls.graph.watch(argument.variable, arrived)


def method(calls: Calls, callee: Member, arguments: Arguments, site: cst.CSTNode, out: Variable) -> bool:
    """Model a call of a method of a list, dict or record; False if the method is not modelled."""
    base = callee.base
    if not isinstance(base, Holder) or base.kind not in {"list", "dict", "record"}:
        return False
    read = METHODS.get(callee.name)
    if read is None:
        return False
    move(calls, arguments)
    read(calls, base, arguments, site, out)
    return True


def _append(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    for argument in arguments[:1]:
        calls.graph.edge(argument.variable, calls.program.written(base, ANY))


def _insert(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    _append(calls, base, arguments[1:2], site, out)
    _reordered(calls, base, (), site, out)


def _reordered(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    """Model a method that reorders a list: each entry may be at any index afterwards."""
    calls.graph.edge(calls.program.read(base, ANY), calls.program.written(base, ANY))


def _sort(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    _reordered(calls, base, (), site, out)
    ordered_by(calls, arguments, calls.program.read(base, ANY), site)


def _extend(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    for argument in arguments[:1]:
        items = calls.entries.items(argument.variable, argument.node or site)
        calls.graph.edge(items, calls.program.written(base, ANY))


def _update(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    if base.kind != "dict":
        _extend(calls, base, arguments, site, out)
        return
    for argument in arguments:
        if argument.keyword:
            calls.graph.edge(argument.variable, calls.program.written(base, argument.keyword))
        elif argument.star:
            calls.entries.copy(argument.variable, base)
        else:
            merge(calls, argument, base, site)


def _get(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    key = arguments[0].node if arguments else None
    if key is not None:
        with_key(calls.program, key, lambda known: calls.graph.edge(calls.program.read(base, known), out))
    else:
        calls.graph.edge(calls.program.read(base, ANY), out)
    if len(arguments) < 2:
        calls.graph.put(out, calls.program.none)
    for argument in arguments[1:2]:
        calls.graph.edge(argument.variable, out)


def _pop(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    if base.kind == "dict":
        _get(calls, base, arguments, site, out)
        return
    calls.graph.edge(calls.program.read(base, ANY), out)
    _reordered(calls, base, (), site, out)


def _setdefault(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    _get(calls, base, arguments, site, out)
    key = arguments[0].node if len(arguments) > 1 else None
    if key is not None:
        default = arguments[1].variable
        with_key(calls.program, key, lambda known: calls.graph.edge(default, calls.program.written(base, known)))


def _values(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder = calls.program.holder(site, "list", base)
    calls.graph.put(out, holder)
    calls.graph.edge(calls.program.read(base, ANY), calls.program.written(holder, ANY))


def _items(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder, pair = calls.program.holder(site, "list", base), calls.program.holder(site, "list", (base, "pair"))
    calls.graph.put(out, holder)
    calls.graph.put(calls.program.written(holder, ANY), pair)
    calls.graph.put(calls.program.written(pair, 0), calls.program.interned(("key", site), lambda: Computed(site)))
    calls.graph.edge(calls.program.named(("keys of", id(base))), calls.program.written(pair, 0))
    calls.graph.edge(calls.program.read(base, ANY), calls.program.written(pair, 1))


def _pop_item(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    pair = calls.program.holder(site, "list", (base, "popped"))
    calls.graph.put(out, pair)
    calls.graph.edge(calls.program.read(base, ANY), calls.program.written(pair, 1))


def _copied(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    holder = calls.program.holder(site, base.kind, (base, "copy"), base.cls)
    holder.names = base.names
    calls.graph.put(out, holder)
    calls.entries.copy(only(calls, base), holder)
    for argument in arguments:
        if argument.keyword:
            calls.graph.edge(argument.variable, calls.program.written(holder, argument.keyword))


def _looks(calls: Calls, base: Holder, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
    calls.graph.put(out, calls.program.interned(("looked", site), lambda: Computed(site)))


Method = Callable[[Calls, Holder, Sequence[Given], cst.CSTNode, Variable], None]
METHODS: dict[str, Method] = {
    "_asdict": _copied,
    "_replace": _copied,
    "__contains__": _looks,
    "__len__": _looks,
    "add": _append,
    "append": _append,
    "appendleft": _append,
    "clear": _looks,
    "copy": _copied,
    "count": _looks,
    "difference": _copied,
    "discard": _looks,
    "extend": _extend,
    "extendleft": _extend,
    "get": _get,
    "has_key": _looks,
    "index": _looks,
    "insert": _insert,
    "intersection": _copied,
    "isdisjoint": _looks,
    "issubset": _looks,
    "issuperset": _looks,
    "items": _items,
    "iteritems": _items,
    "itervalues": _values,
    "keys": _looks,
    "pop": _pop,
    "popitem": _pop_item,
    "popleft": _pop,
    "remove": _reordered,
    "reverse": _reordered,
    "rotate": _reordered,
    "setdefault": _setdefault,
    "sort": _sort,
    "union": _copied,
    "update": _update,
    "values": _values,
}


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
    calls.graph.put(out, calls.program.interned(("sum", site), lambda: Computed(site)))
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
    calls.graph.put(calls.program.written(pair, 0), calls.program.interned(("number", site), lambda: Computed(site)))
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
    items = [Given(calls.entries.items(argument.variable, argument.node or site)) for argument in arguments[1:]]
    calls.call(arguments[0].variable, items, site, calls.program.written(holder, ANY))


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
