"""Names of builtins that a module binds itself: where they may still mean the builtin."""

from __future__ import annotations

import pytest

from migrate.source.flow.names.bindings import may_be_unbound
from migrate.source.syntax.tree import Tree

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
