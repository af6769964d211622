"""Arguments of a call, and the interface through which parts of the engine make calls."""

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
    """One argument: its variable, `*`, `**` or nothing, its keyword, and its expression if the source has one."""

    variable: Variable
    star: str = ""
    keyword: str = ""
    node: cst.BaseExpression | None = None


Arguments = Sequence[Given]


class Caller(Protocol):
    """Connects calls with their callees; implemented by `Calls`, which owns the parts that need it."""

    def call(self, callee: Variable, arguments: Arguments, site: cst.CSTNode, out: Variable) -> None:
        """Add to `out` everything that a call may return."""

    def enter(
        self,
        function: Function,
        arguments: Arguments,
        site: cst.CSTNode,
        out: Variable,
        receiver: Value | None = None,
    ) -> None:
        """Bind arguments to the parameters of a function and connect its return value with `out`."""


def arguments_of(program: Program, call: cst.Call) -> Arguments:
    """Return the arguments of a call expression."""
    return [
        Given(program.value_of(arg.value), arg.star, arg.keyword.value if arg.keyword else "", arg.value)
        for arg in call.args
    ]
