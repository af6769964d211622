"""Tables that an earlier rewrite put into a graph, told by its ops alone: an import has nothing else."""

from __future__ import annotations

from rewriter.graph.view import GraphView
from rewriter.patterns.partitioned import named

__all__ = ["SCOPE", "moved_before"]

#: Ops that a rewrite adds are below this scope.
SCOPE = "recmigrate/"


def moved_before(view: GraphView) -> set[str]:
    """Return the names of the variables that became tables."""
    names = {op: view.attribute(op, "table_name").s.decode() for op in view.of_type("RecTableHandle")}
    found = [name for op, name in names.items() if op == f"{SCOPE}{name}/created"]
    return {*found, *named(view, found, view.of_type("VarHandleOp", "VariableV2", "Variable"), ())}
