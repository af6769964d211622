"""The arguments of a call."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import libcst as cst

from migrate.source.flow.graph import Variable
from migrate.source.flow.program import Program


@dataclass(frozen=True)
class Given:
    """One argument: its variable, `*` or `**` or nothing, its keyword, and the expression, if the source has it."""

    variable: Variable
    star: str = ""
    keyword: str = ""
    node: cst.BaseExpression | None = None


Arguments = Sequence[Given]


def arguments_of(program: Program, call: cst.Call) -> Arguments:
    """Return the arguments of a call."""
    return [
        Given(program.value_of(arg.value), arg.star, arg.keyword.value if arg.keyword else "", arg.value)
        for arg in call.args
    ]
