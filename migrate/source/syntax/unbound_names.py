"""Finds names that a converted file reads and nothing binds any more, by the compiler's own table of symbols.

A conversion that drops an import leaves such a name behind where some mention of it stayed: `@paddle.jit.to_static`,
`getattr(paddle, "tanh")`. The text still parses, and stops with a NameError in whatever step comes there.
"""

from __future__ import annotations

import ast
import builtins
import symtable
import warnings
from collections.abc import Iterator
from dataclasses import dataclass

#: What every module has without binding it.
GIVEN = frozenset(dir(builtins)) | {"__annotations__", "__builtins__", "__cached__", "__file__", "__path__"}
SHOWN = 3  #: so many names are in the message, the others are counted


@dataclass(frozen=True)
class _Names:
    """The names of one text that no scope of it binds -> the first line that reads it; its star imports."""

    unbound: dict[str, int]
    stars: frozenset[str]


def check_names(before: str | None, after: str) -> None:
    """Raise ValueError if `after` reads a name that it does not bind, where `before` did not, or bound it.

    Args:
        before: the text that was converted; None for a file that has none.
        after: the text to write.

    A name that the original leaves to a star import, or to its surroundings, is left to them as long as it may come
    from there: until the last star import is gone.
    """
    now = _names_of(after)
    known = _names_of(before) if before is not None and now.unbound else _Names({}, frozenset())
    left = known.unbound if now.stars or not known.stars else {}
    lost = [(name, line) for name, line in now.unbound.items() if name not in left]
    if lost:
        first = sorted(lost, key=lambda item: (item[1], item[0]))
        shown = ", ".join(f"`{name}` (line {line})" for name, line in first[:SHOWN])
        more = f" and {len(first) - SHOWN} more" if len(first) > SHOWN else ""
        raise ValueError(f"the converted text reads {shown}{more}, which nothing in it binds")


def _names_of(text: str) -> _Names:
    """Return what a text reads without binding it; nothing of one that does not compile."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            tree, top = ast.parse(text), symtable.symtable(text, "<converted>", "exec")
        except SyntaxError:
            return _Names({}, frozenset())
    tables = list(_tables(top))
    bound = GIVEN | {name for table in tables for name in _bound_in_module(table, table is top)}
    unbound: dict[str, int] = {}
    for table in tables:
        for symbol in table.get_symbols():
            name = symbol.get_name()
            if name not in bound and symbol.is_referenced() and symbol.is_global():
                line = _line(tree, name, table.get_lineno())
                unbound[name] = min(line, unbound.get(name, line))
    stars = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
    return _Names(unbound, frozenset(f"{'.' * node.level}{node.module or ''}" for node in stars))


def _tables(table: symtable.SymbolTable) -> Iterator[symtable.SymbolTable]:
    yield table
    for inner in table.get_children():
        yield from _tables(inner)


def _bound_in_module(table: symtable.SymbolTable, top: bool) -> Iterator[str]:
    """Yield the names of the module that one scope binds: all that it binds, or those it declares `global`."""
    for symbol in table.get_symbols():
        if (symbol.is_assigned() or symbol.is_imported()) and (top or symbol.is_declared_global()):
            yield symbol.get_name()


def _line(tree: ast.Module, name: str, start: int) -> int:
    """Return the first line from `start` on, where its scope begins, that reads a name."""
    reads = (node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == name)
    return min((node.lineno for node in reads if node.lineno >= start), default=start)
