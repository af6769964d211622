"""The layout of converted calls: pure text, the same for every target."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 120
TAB = 4


def margin(lead: str, function: str) -> str:
    """Return the indentation of a call's further lines, under its first argument; `lead` is the text before it."""
    indent = lead[: len(lead) - len(lead.lstrip())]
    return indent + " " * (len(lead) - len(indent) + len(function) + 1)


def keywords(**given: str) -> list[str]:
    """Return arguments by keyword, in the order given; the texts are expressions."""
    return [f"{name}={text}" for name, text in given.items()]


def call(function: str, arguments: Sequence[str], lead: str, newline: str) -> str:
    """Return `function(arguments)`; arguments that do not fit after `lead` continue under the first one.

    Where one is too long for that, each gets a line of its own, indented more than the statement.
    """
    pad = margin(lead, function)
    width = len(pad.expandtabs(TAB))
    if all(width + len(argument) + 1 <= WIDTH for argument in arguments):
        return f"{function}(" + (newline + pad).join(_filled(arguments, width)) + ")"
    indent = lead[: len(lead) - len(lead.lstrip())]
    deeper = newline + indent + " " * TAB
    return f"{function}({deeper}{deeper.join(_filled(arguments, len(deeper.expandtabs(TAB))))}{newline}{indent})"


def _filled(arguments: Sequence[str], width: int) -> list[str]:
    """Return lines of arguments that begin at the column `width`; all but the last end in a comma."""
    lines: list[str] = []
    current = ""
    for argument in arguments:
        longer = f"{current}, {argument}" if current else argument
        if current and width + len(longer) + 1 > WIDTH:
            lines.append(current + ",")
            longer = argument
        current = longer
    return [*lines, current]


def in_brackets(text: str) -> str:
    """Return an expression that a line can begin with: in brackets, where outer brackets held its lines together."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return f"({text})"
    return text


def two_optimizers(dense: str, sparse: str, stock: str, table: str) -> list[str]:
    """Return the statements that create both optimizers: one line when it is short."""
    stock, table = in_brackets(stock), in_brackets(table)
    together = f"{dense}, {sparse} = {stock}, {table}"
    return (
        [together]
        if len(together) <= WIDTH - 8 and "\n" not in together
        else [f"{dense} = {stock}", f"{sparse} = {table}"]
    )


@dataclass(frozen=True)
class Halves:
    """The texts of a training step's two halves."""

    dense: str
    sparse: str
    grads: str
    dense_vars: str
    extra: Sequence[str]  #: further arguments of the dense half: the global step
    optional: str = ""  #: the list of the tables' pairs, where it may be empty
    dense_optional: str = ""  #: the list of the other variables' pairs, where it may be empty


def apply_both(tf: str, halves: Halves, name: str, lead: str, newline: str) -> str:
    """Return the operation that applies both halves; an optional one only where it has something to do."""
    function = f"{tf}.group"
    pad = newline + margin(lead, function)
    step = "".join(f", {argument}" for argument in halves.extra)
    # Without a dense half, the sparse one counts the steps.
    counts = [argument.removeprefix("global_step=") for argument in halves.extra if halves.dense_optional]
    counted = "".join(f", global_step=None if {halves.dense_optional} else {argument}" for argument in counts)
    pairs = halves.optional or f"{halves.grads}[len({halves.dense_vars}) :]"
    tables = f"{halves.sparse}.apply_gradients({pairs}{counted})"
    dense_pairs = halves.dense_optional or f"{halves.grads}[: len({halves.dense_vars})]"
    dense = f"{halves.dense}.apply_gradients({dense_pairs}{step})"
    parts = [
        f"*([{dense}] if {halves.dense_optional} else [])" if halves.dense_optional else dense,
        f"*([{tables}] if {halves.optional} else [])" if halves.optional else tables,
        *([f"name={name}"] if name else []),
    ]
    return f"{function}({(',' + pad).join(parts)})"
