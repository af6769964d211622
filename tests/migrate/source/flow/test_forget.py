"""An analysis that nobody asks any more is freed at once: a search for cycles among its millions of objects is slow."""

from __future__ import annotations

import gc
import weakref

import libcst as cst

from migrate.source.flow import ValueFlow
from migrate.source.syntax.tree import Tree

PROGRAM = "def f(x):\n    return x\nclass C:\n    def g(self):\n        return f(self)\ny = f([1])\nz = C().g()\n"


def test_the_values_of_a_forgotten_analysis_are_freed() -> None:
    tree = Tree("model.py", PROGRAM)
    flow = ValueFlow([tree])
    nodes = [node for node in tree.nodes() if isinstance(node, cst.BaseExpression)]
    values = [weakref.ref(value) for node in nodes for value in flow.values(node)]
    assert values
    gc.disable()
    try:
        flow.forget()
        assert not [value for value in values if value() is not None]
    finally:
        gc.enable()
