"""Nodes of libcst behave as they did where C does what Python did; those below a node are found in source order."""

from __future__ import annotations

from abc import ABC

import libcst as cst
from libcst import matchers

from migrate.source.syntax.node_index import nodes_in
from migrate.source.syntax.tree import Tree

TEXT = "def f(a, b=g(1), *c):\n    # why\n    return [h(x).y for x in a if g(x)]\n"


def test_nodes_are_equal_by_identity_and_instances_of_their_classes() -> None:
    first, second = cst.Name("a"), cst.Name("a")
    assert first != second and first.deep_equals(second) and len({first: 1, second: 2}) == 2
    assert isinstance(first, cst.BaseExpression | cst.CSTNode) and not isinstance(first, cst.BaseStatement | cst.Call)
    assert issubclass(cst.Name, cst.BaseExpression) and not issubclass(cst.Name, cst.BaseStatement)


def test_heirs_of_nodes_may_have_abstract_bases() -> None:
    class Mixed(cst.Name, ABC):
        pass

    assert isinstance(Mixed("a"), cst.Name) and not isinstance(cst.Name("a"), Mixed)


def test_questions_about_classes_run_no_python() -> None:
    assert type(cst.Name).__instancecheck__ is type.__instancecheck__
    assert {kind.__hash__ for kind in (cst.Name, cst.Call, cst.FunctionDef)} == {object.__hash__}


def test_nodes_below_another_come_in_source_order() -> None:
    tree = Tree("m.py", TEXT)
    found = nodes_in(tree.module, cst.Call, cst.Name)
    assert set(found) == {*matchers.findall(tree.module, matchers.Call() | matchers.Name())}
    assert [tree.source(one) for one in nodes_in(found[0], cst.Name)] == [tree.source(found[0])]
    calls = nodes_in(tree.module, cst.Call)
    assert [tree.source(one) for one in calls] == ["g(1)", "h(x)", "g(x)"]


def test_each_node_but_blanks_has_a_place_and_a_parent() -> None:
    tree = Tree("m.py", TEXT)
    assert {type(one) for one in tree.nodes()}.isdisjoint({cst.SimpleWhitespace, cst.Comment, cst.TrailingWhitespace})
    for node in nodes_in(tree.module, cst.Name, cst.Call, cst.Return):
        assert tree.contains(tree.module, node)
        start, end = tree.span(node)
        assert TEXT[start:end].strip() == tree.module.code_for_node(node).strip()
