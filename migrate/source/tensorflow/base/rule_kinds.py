"""The kinds of rules that the TensorFlow frontend asks, and what it gives them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.rules import Refusal, Rule, local_rules
from migrate.source.settings.options import NO_SWITCHES
from migrate.source.settings.rule_selection import ALL, Selection
from migrate.source.settings.suppressions import Comments
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.common_refusals import OF_CREATIONS, OF_LOOKUPS
from migrate.source.tensorflow.base.initializers import Initializers
from migrate.source.tensorflow.base.model import Adaptation, Blocker, Creation, Lookup
from migrate.source.tensorflow.base.symbols import TfNames
from migrate.targets.base import Target
from migrate.targets.runtime import TARGET as RUNTIME
from migrate.targets.switches import Switches


@dataclass(frozen=True)
class File:
    """One file as the rules see it."""

    tree: Tree
    names: TfNames
    initializers: Initializers
    selection: Selection = ALL  #: the rules that may change code and are reported
    comments: Comments = field(default_factory=Comments)
    target: Target = RUNTIME  #: the SDK that converted code calls
    switches: Switches = NO_SWITCHES  #: what is asked of it

    @property
    def files(self) -> Sequence[File]:
        """The single files: this one, or all that are judged together."""
        return (self,)

    def program(self, node: cst.CSTNode) -> Sequence[File]:
        """Return the single files that may run in one program with the one in which `node` stands, it included."""
        return (self,)

    def part(self, node: cst.CSTNode) -> File:
        """Return the single file in which `node` stands."""
        return self

    def calls(self, *symbols: str) -> list[tuple[cst.Call, str]]:
        """Return the calls of these canonical symbols, in source order."""
        return [(call, name) for call, name in self.names.calls if name in symbols]


class CreationRule(Rule):
    """Reads a call that makes a variable."""

    symbols: ClassVar[frozenset[str]]

    refusals: ClassVar[tuple[Refusal, ...]] = OF_CREATIONS

    def applies(self, file: File, call: cst.Call) -> bool:
        """True where a call of one of the symbols makes what this rule reads."""
        return True

    def looks_up(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        """Return the call that reads rows of what is mentioned at `node`, beside those of lookup rules."""
        return None

    def use(self, file: File, node: cst.BaseExpression) -> Lookup | Blocker | None:
        """Return what a mention does; None asks the rules for lookups and uses of variables."""
        return None

    def check(self, file: File, call: cst.Call, lookups: list[Lookup]) -> Blocker | None:
        """Return why what the call makes must stay, given all that look it up."""
        return None

    def read(self, file: File, call: cst.Call) -> Creation:
        """Return what the call makes; what is not understood goes into its `stops`."""
        raise NotImplementedError


class LookupRule(Rule):
    """Reads a call that may look rows up in a variable."""

    symbols: ClassVar[frozenset[str]]
    takes_lists: ClassVar[bool] = False  #: the table may be given as a list of partitions

    refusals: ClassVar[tuple[Refusal, ...]] = OF_LOOKUPS

    def table(self, call: cst.Call) -> cst.Arg | None:
        """Return the argument that would be the table."""
        raise NotImplementedError

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        """Return the call that looks rows up in the table mentioned at `node`, or None when the rule sees none."""
        arg = file.tree.parent(node)
        listed = file.tree.parent(arg) if isinstance(arg, cst.Element) and self.takes_lists else None
        if isinstance(listed, cst.List) and len(listed.elements) == 1:
            arg = file.tree.parent(listed)  # a list of one partition
        call = file.tree.parent(arg) if isinstance(arg, cst.Arg) else None
        known = isinstance(call, cst.Call) and file.names.of(call.func) in self.symbols
        return call if known and isinstance(call, cst.Call) and self.table(call) is arg else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        """Return the lookup, or why it cannot become one; asked only when the table is a proven variable."""
        raise NotImplementedError


class UseRule(Rule):
    """Explains a use of a table that is not a lookup."""

    applicability: ClassVar[Applicability | None] = None

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | Adaptation | None:
        """Return why this use keeps the table as it is, or how it follows; None when the rule does not know it."""
        raise NotImplementedError


@dataclass(frozen=True)
class Remark:
    """Something about the file, whether or not a table is concerned."""

    node: cst.CSTNode
    rule: str
    state: State
    message: str
    reason: str = ""
    action: str = ""


class FileRule(Rule):
    """Looks at a whole file for what the tables cannot follow."""

    applicability = None

    def remarks(self, file: File) -> Iterator[Remark]:
        """Yield findings that hold even when the file has no table."""
        yield from ()

    def blockers(self, file: File) -> Iterator[Blocker]:
        """Yield reasons that keep every table of the file as it is."""
        yield from ()


def foreign_symbols() -> frozenset[str]:
    """Return the qualified names of functions outside TensorFlow that the user's own rules read."""
    asked = [rule.symbols for rule in local_rules(CreationRule)] + [rule.symbols for rule in local_rules(LookupRule)]
    return frozenset(symbol for symbols in asked for symbol in symbols if "." in symbol)
