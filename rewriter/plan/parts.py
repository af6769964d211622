"""The parts that a plan adds to a graph: their names, and the rules and tables that they are for."""

from __future__ import annotations

from dataclasses import dataclass

from rewriter.facts import Table
from rewriter.graph.view import Use
from rewriter.plan.plan import ControlEdit, InputEdit


@dataclass(frozen=True)
class Part:
    """An op, or a few, that a rewrite adds; of one table, or of several, separated by commas."""

    name: str
    rule: str
    table: str

    def read(self, use: Use, old: str, member: str = "", same_shape: bool = True) -> InputEdit:
        """Return the edit by which a use reads the part, or a member of it, instead of a tensor."""
        return InputEdit(use, old, self.name + member, same_shape, self.rule, self.table)

    def awaited(self, op: str, old: tuple[str, ...] = (), member: str = "") -> ControlEdit:
        """Return the edit by which an op waits for the part, or a member of it, instead of other ops."""
        return ControlEdit(op, old, self.name + member, self.rule, self.table)


def part(table: Table, name: str, rule: str = "") -> Part:
    """Return a part of one table; a part that has no other rule is for what its name begins with."""
    return Part(f"{table.name}/{name}", rule or name.partition("/")[0], table.name)


def lookup_part(table: Table, number: int) -> Part:
    """Return the part in the place of a lookup."""
    return part(table, f"lookup/{number}", table.lookups[number].rule)
