"""What a target is."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Function:
    """A function or module that converted code uses."""

    name: str
    module: str = ""  #: where it is imported from; empty for an attribute of TensorFlow's version-1 module


@dataclass(frozen=True)
class TableText:
    """The texts of a table: expressions of the source, which are written where the variable was made."""

    name: str
    dim: str
    rows: str
    initializer: str


@dataclass(frozen=True)
class Spelling:
    """What the texts of one file are made of."""

    tf: str  #: how the file names TensorFlow
    v1: str  #: how it names the module of version 1
    function: Callable[[str], str]  #: the local name of a function of the plan, which is imported then
    newline: str


@dataclass(frozen=True)
class Follows:
    """How a target follows a stock optimizer."""

    difference: str = ""  #: in which way it trains otherwise; empty: it computes the same


def hash_optimizer(module: str, arguments: Sequence[tuple[str, str]]) -> str:
    """Return the call that makes a table optimizer, as Rec SDK names it."""
    return f"{module}.create_hash_optimizer({', '.join(f'{name}={value}' for name, value in arguments)})"


@dataclass(frozen=True)
class Target:
    """An SDK: what it has, and how it is spelled."""

    name: str
    title: str  #: how messages call it
    functions: Mapping[str, Function]  #: by the plan's name; optimizers of tables by their module
    optimizers: Mapping[str, Follows]  #: by the plan's name of the stock optimizer
    create: Callable[[Spelling, TableText, str], str]  #: the call that makes a table, after a lead on its line
    makes: frozenset[str]  #: functions that only a file of this SDK calls
    optimizer: Callable[[str, Sequence[tuple[str, str]]], str] = hash_optimizer
    lacks: Mapping[str, str] = field(default_factory=dict)  #: a function of the plan -> why it has no spelling

    def imports(self, used: Mapping[str, str], newline: str) -> str:
        """Return import lines for `used` (the plan's name -> local name), one a module, ending in a line end."""
        lines = []
        for module in sorted({self.functions[name].module for name in used}):
            names = sorted(name for name in used if self.functions[name].module == module)
            given = [(self.functions[name].name, used[name]) for name in names]
            parts = [name if name == local else f"{name} as {local}" for name, local in given]
            lines.append(f"from {module} import {', '.join(parts)}{newline}")
        return "".join(lines)
