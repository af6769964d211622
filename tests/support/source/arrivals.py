"""What arrives where in a program: what really does when it runs, and what the value flow says."""

from __future__ import annotations

import sys
import types
from dataclasses import dataclass, field
from typing import Any

import libcst as cst
import pytest

from migrate.source.flow import Member, Result, Spot, Symbol, Unknown, ValueFlow
from migrate.source.syntax.tree import Tree

HEAD = (
    "from maker import make, see\n"
    "import collections, contextlib, dataclasses, functools, itertools, operator, types\n"
    "flag = True"
)


@dataclass(eq=False)
class Made:
    """What `make` makes, with the calls of `see` that it reached."""

    name: str
    seen: list[int] = field(default_factory=list)


def seen(text: str) -> dict[int, set[str]]:
    """Run a program; return the names of what each `see` got."""
    found: dict[int, set[str]] = {}

    def make(name: str) -> Made:
        return Made(name)

    def see(place: int, value: Any) -> None:
        if isinstance(value, Made):
            found.setdefault(place, set()).add(value.name)

    maker, program = types.ModuleType("maker"), types.ModuleType("program")
    vars(maker).update(make=make, see=see)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "maker", maker)
        patch.setitem(sys.modules, "program", program)
        exec(compile(text, "program.py", "exec"), vars(program))
    return found


def told(text: str) -> dict[int, set[str] | None]:
    """Return what the analysis says that each `see` may get; None for anything."""
    tree = Tree("program.py", text)
    flow = ValueFlow([tree], tame=("maker",))
    found: dict[int, set[str] | None] = {}
    for call in tree.calls:
        if isinstance(call.func, cst.Name) and call.func.value == "see":
            place = int(call.args[0].value.value)  # type: ignore[attr-defined]
            values = flow.values(call.args[1].value)
            made = {value.node.args[0].value.raw_value for value in values if _is_made(value)}  # type: ignore[union-attr]
            known = values and not any(_is_opaque(one) for one in values)
            found[place] = made & _followed(flow, tree, call.args[1].value) if known else None
    return found


def _followed(flow: ValueFlow, tree: Tree, node: cst.BaseExpression) -> set[str]:
    """Return the names of what goes to a place according to the search forward, from each call of `make` on."""
    found = set()
    for call in tree.calls:
        made = [one for one in flow.values(call) if _is_made(one) and one.node is call]
        if made and any(spot.node is node for spot in flow.call_strings.made_at(Spot(call), made).spots):
            found.add(call.args[0].value.raw_value)  # type: ignore[attr-defined]
    return found


def _is_made(value: object) -> bool:
    if not isinstance(value, Result) or not isinstance(value.node, cst.Call):
        return False
    return isinstance(value.callee, Symbol) and value.callee.name == "maker.make"


def _is_opaque(value: object) -> bool:
    return isinstance(value, Unknown | Member) or (isinstance(value, Result) and not _is_made(value))
