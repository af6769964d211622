"""What may run between two places of a function, and where names of builtins may still mean the builtin."""

from __future__ import annotations

import libcst as cst
import pytest

from migrate.source.flow import Member, Order, Result, ValueFlow
from migrate.source.flow.names.bindings import may_be_unbound
from migrate.source.syntax.tree import Tree

TEXTS = {
    "the rest of a line": ("a = first()\nmade()\nlast(a)\nother()\n", {"made"}),
    "a function that is run": ("def f():\n    made()\na = first()\nf()\nlast(a)\n", {"f", "made"}),
    "a property": (
        "class C:\n    @property\n    def k(self):\n        made()\na = first()\nC().k\nlast(a)\n", {"C", "made"}),
    "a constructor": (
        "class C:\n    def __init__(self):\n        made()\na = first()\nC()\nlast(a)\n", {"C", "made"}),
}  # fmt: skip


def _call(tree: Tree, name: str) -> cst.Call:
    return next(one for one in tree.calls if tree.source(one.func) == name)


@pytest.mark.parametrize(("text", "expected"), TEXTS.values(), ids=TEXTS)
def test_what_may_run_between_two_calls(text: str, expected: set[str]) -> None:
    tree = Tree("m.py", text)
    found = Order(ValueFlow([tree]), [tree]).in_frame(_call(tree, "first"), _call(tree, "last"))
    assert {tree.source(one.func) for one in found if isinstance(one, cst.Call)} == expected


@pytest.mark.parametrize(
    ("line", "opened"),
    [("for x in a: pass", True), ("x, y = a", True), ("(lambda *x: x)(*a)", True), ("x = sorted(a)", True),
     ("b = [*a]", True), ("b = a", False), ("b = [a]", False), ("b = {'k': a}", False),
     ("b = (lambda x: x)(a)", False)],
)  # fmt: skip
def test_it_is_said_where_the_entries_of_a_list_are_taken(line: str, opened: bool) -> None:
    tree = Tree("m.py", f"import lib\na = lib.make()\n{line}\n")
    flow = ValueFlow([tree])
    value = next(one for one in flow.values(_call(tree, "lib.make")) if isinstance(one, Result))
    assert bool(flow.opened(value)) is opened


def test_columns_are_told_apart() -> None:
    tree = Tree(
        "m.py", "import lib\nrows = [(lib.a(), lib.b(), lib.c())]\nx, y, z = zip(*rows)\nshow(x[0], y[0], z[0])\n"
    )
    flow = ValueFlow([tree])
    entries = [[tree.source(v.node) for v in flow.values(arg.value) if v.node] for arg in _call(tree, "show").args]
    assert entries[:2] == [["lib.a()"], ["lib.b()"]]
    assert "lib.c()" in entries[2]


def test_a_sum_takes_the_entries_of_the_lists_in_it() -> None:
    tree = Tree("m.py", "import lib\na = lib.make()\nb = [a]\nc = sum(b, [])\nd = c[0]\n")
    flow = ValueFlow([tree])
    value = flow.values(_call(tree, "lib.make"))[0]
    assert flow.opened(value)
    last = tree.names["d"][0]
    assign = tree.parent(tree.parent(last) or last)
    assert isinstance(assign, cst.Assign)
    assert any(isinstance(one, Member) and one.base is value for one in flow.values(assign.value))


OWN = "def eval(x):\n    return x\n"
USE = "def main(x):\n    return eval(x)  # here\n"
BOUND = {
    "before": OWN + USE,
    "by an import": "from other import eval\n" + USE,
    "at the end": OWN + "main = eval(3)  # here\n",
    "a call of itself": "def eval(x):\n    return eval(x)  # here\n",
}
UNBOUND = {
    "a call in between": USE + "main(3)\n" + OWN,
    "under a condition": "if a:\n    def eval(x):\n        return x\n" + USE,
    "in a loop": "for eval in []:\n    pass\n" + USE,
    "before": "y = eval(x)  # here\n" + OWN,
    "in a default value": "def f(x=eval(3)):  # here\n    pass\n" + OWN,
    "in a decorator": "@eval  # here\ndef f():\n    pass\n" + OWN,
    "in its own value": "eval = eval  # here\n",
    "deleted": OWN + USE + "del eval\nmain(3)\n",
    "in a class": "class A:\n    def eval(x):\n        pass\n    y = eval(3)  # here\n",
    "a class body before": "class A:\n    y = eval(3)  # here\n" + OWN,
}


def _answer(text: str) -> bool:
    tree = Tree("m.py", text)
    number = next(n for n, line in enumerate(text.split("\n"), 1) if line.endswith("# here"))
    reads = [one for one in tree.names["eval"] if tree.location(one).line == number]
    return may_be_unbound(tree, reads[-1])


@pytest.mark.parametrize("text", BOUND.values(), ids=BOUND)
def test_it_is_the_modules_own(text: str) -> None:
    assert not _answer(text)


@pytest.mark.parametrize("text", UNBOUND.values(), ids=UNBOUND)
def test_it_may_be_the_builtin(text: str) -> None:
    assert _answer(text)
