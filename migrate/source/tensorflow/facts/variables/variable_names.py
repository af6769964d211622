"""The name of a table's former variable in the original graph, as far as it is known."""

from __future__ import annotations

import re
from dataclasses import dataclass

from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.calls.variable_scopes import full_name, prefix
from migrate.source.tensorflow.facts.optimizers.optimizers import STOCK

_SLOTS = "|".join(sorted({name.rpartition(".")[2].removesuffix("Optimizer") for name in STOCK}))
#: Suffixes that TensorFlow appends to the name of a variable: those of its parts, its ops and its slots.
PARTS = (
    r"(/(part_\d+|read|Read/ReadVariableOp|Assign|initial_value|Initializer/\w+|IsInitialized/\w+"
    rf"|({_SLOTS})(_\d+)?|ExponentialMovingAverage))*(:\d+)?"
)


@dataclass(frozen=True)
class VariableName:
    """The last part of a name, and the scopes before it if they are known."""

    last: str
    scope: str | None  #: with a trailing slash; None if not known
    suffixed: bool = False  #: TensorFlow may append a number
    computed: bool = False  #: the name is not known

    def is_meant_by(self, text: str) -> bool:
        """True if `text` may name the variable, one of its slots, or an operation that belongs to it."""
        if self.computed:
            return True
        before = "(.*/)?" if self.scope is None else re.escape(self.scope)
        number = r"(_\d+)?" if self.suffixed else ""
        return re.fullmatch(before + re.escape(self.last) + number + PARTS, text) is not None

    def fits(self, pattern: str) -> bool:
        """True if a regular expression for computed names may match the variable or one of its outputs."""
        if self.computed:
            return True
        full = (self.scope or "") + self.last
        texts = [full, f"scope/{self.last}"] if self.scope is None else [full]
        ends = ("", ":0", "/read", "/read:0", "/Read/ReadVariableOp:0")
        return any(re.fullmatch(pattern, text + end) for text in texts for end in ends)


def variable_name(file: File, table: Table) -> VariableName:
    """Return the name of the variable that becomes a table."""
    creation = table.creation
    if creation.target_function:
        return VariableName("embedding_weights", None)
    if creation.naming.computed is not None:
        return VariableName("", None, computed=True)
    outer = prefix(file, creation.call)
    if creation.naming.unique or outer is None:
        return VariableName(creation.name or "Variable", None, creation.naming.unique)
    return VariableName(creation.name or "Variable", full_name(outer, ""))
