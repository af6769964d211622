"""The arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program
from migrate.source.flow.values import Function, Value


@dataclass(frozen=True)
class Given:
    """One argument: its variable, `*` or `**` or nothing, its keyword, and the expression, if the source has it."""

    variable: Variable
    star: str = ""
    keyword: str = ""
    node: cst.BaseExpression | None = None


Arguments = Sequence[Given]


class Caller(Protocol):
    """Connects calls with what they run: what parts of the engine ask of `Calls`, which has them."""

    def call(self, callee: Variable, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Let `out` be all that a call may return."""

    def enter(
        self,
        function: Function,
        arguments: Arguments,
        site: cst.CSTNode,
        out: Variable,
        receiver: Value | None = None,
    ) -> None:
        """Give parameters what they get, and `out` what comes back."""


def arguments_of(program: Program, call: cst.Call) -> Arguments:
    """Return the arguments of a call."""
    return [
        Given(program.value_of(arg.value), arg.star, arg.keyword.value if arg.keyword else "", arg.value)
        for arg in call.args
    ]
