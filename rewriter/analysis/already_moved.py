"""Detects tables that an earlier rewrite added, by their ops alone: an imported graph has no other trace of them."""

from __future__ import annotations

from rewriter.facts import VARIABLES
from rewriter.graph.view import GraphView
from rewriter.patterns.partitioned import named

#: Name scope of all ops that a rewrite adds.
SCOPE = "recmigrate/"


def moved_before(view: GraphView) -> set[str]:
    """Return the names of the variables that an earlier rewrite replaced, and of those that it made."""
    variables = view.of_type(*VARIABLES)
    names = {op: view.attribute(op, "table_name").s.decode() for op in view.of_type("RecTableHandle")}
    moved = [name for op, name in names.items() if op == f"{SCOPE}{name}/created"]
    return {*moved, *named(moved, variables, ()), *(one for one in variables if one.startswith(SCOPE))}
