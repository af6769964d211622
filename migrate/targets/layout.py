"""Formats generated calls; the same for every target."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH = 120
TAB = 4


def margin(lead: str, function: str) -> str:
    """Return the indentation below the first argument of a call; `lead` is the text before the call on its line."""
    indent = lead[: len(lead) - len(lead.lstrip())]
    return indent + " " * (len(lead) - len(indent) + len(function) + 1)


def keywords(**expressions: str) -> list[str]:
    """Return keyword arguments `name=expression`, in the given order."""
    return [f"{name}={text}" for name, text in expressions.items()]


def call(function: str, arguments: Sequence[str], lead: str, newline: str) -> str:
    """Return `function(arguments)`, broken into lines that are aligned with the first argument.

    If an argument is too long for this, all arguments go to lines of their own with a hanging indent.
    """
    pad = margin(lead, function)
    width = len(pad.expandtabs(TAB))
    if all(width + len(argument) + 1 <= WIDTH for argument in arguments):
        return f"{function}(" + (newline + pad).join(_filled(arguments, width)) + ")"
    indent = lead[: len(lead) - len(lead.lstrip())]
    deeper = newline + indent + " " * TAB
    return f"{function}({deeper}{deeper.join(_filled(arguments, len(deeper.expandtabs(TAB))))}{newline}{indent})"


def _filled(arguments: Sequence[str], width: int) -> list[str]:
    """Fill lines that begin at the column `width` with arguments; all lines but the last end in a comma."""
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
    """Return an expression, in parentheses if it has line breaks that need them."""
    try:
        ast.parse(text, mode="eval")
    except SyntaxError:
        return f"({text})"
    return text


def two_optimizers(dense: str, sparse: str, stock: str, table: str) -> list[str]:
    """Return the statements that create both optimizers, on one line if they fit."""
    stock, table = in_brackets(stock), in_brackets(table)
    together = f"{dense}, {sparse} = {stock}, {table}"
    return (
        [together]
        if len(together) <= WIDTH - 8 and "\n" not in together
        else [f"{dense} = {stock}", f"{sparse} = {table}"]
    )


@dataclass(frozen=True)
class Halves:
    """Source expressions of the dense and the sparse part of a training step."""

    dense: str
    sparse: str
    dense_grads: str  #: (gradient, dense variable) pairs
    sparse_grads: str  #: (gradient, table) pairs
    grads: str  #: all pairs, those without a gradient among them
    extra: Sequence[str]  #: further arguments of the dense part: the global step


def apply_both(tf: str, halves: Halves, name: str, lead: str, newline: str) -> str:
    """Return the operation that applies both parts, each only if its list is not empty.

    If both are, the dense optimizer is given all pairs: it raises the error of a loss that depends on no variable.
    """
    function = f"{tf}.group"
    pad = newline + margin(lead, function)
    step = "".join(f", {argument}" for argument in halves.extra)
    # If the dense part is empty, the sparse part increments the global step.
    counts = [argument.removeprefix("global_step=") for argument in halves.extra]
    counted = "".join(f", global_step=None if {halves.dense_grads} else {argument}" for argument in counts)
    first = f"{halves.dense}.apply_gradients({halves.dense_grads} or {halves.grads}{step})"
    parts = [
        f"*([{first}] if {halves.dense_grads} or not {halves.sparse_grads} else [])",
        f"*([{halves.sparse}.apply_gradients({halves.sparse_grads}{counted})] if {halves.sparse_grads} else [])",
        *([f"name={name}"] if name else []),
    ]
    return f"{function}({(',' + pad).join(parts)})"
