"""The rule of tables that a recorded graph moves, and the source does not."""

from __future__ import annotations

from migrate.report.model import Applicability
from migrate.source.rules import Rule, register


@register
class InGraph(Rule):
    """A variable that becomes a table in the graphs of a recorded run moves there, where the source stays as it was.

    The program gets one line, `rewriter.install(tables=[...])`, in the file that it starts with. It rewrites each graph
    before a session first runs it, and says there what stays and why. Nothing else changes in the source.
    """

    id = "in-graph"
    title = "A variable that only a recorded run shows to move is moved when the program runs"
    since = "0.2"
    applicability = Applicability.IN_GRAPH
    fix_safety = "other runs build other graphs: what cannot move in one stays a variable, and the program says so"
