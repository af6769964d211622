"""The kinds of rules in the TensorFlow front end, the file that they receive, and queries about it, asked once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Concatenate, ParamSpec, TypeVar

import libcst as cst

from migrate.report.model import Applicability, State
from migrate.source.evidence.runs import Evidence
from migrate.source.rules import Refusal, Rule, local_rules, rules
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
    """One source file, as rules see it."""

    tree: Tree
    names: TfNames
    initializers: Initializers
    selection: Selection = ALL  #: the rules that may change code and are reported
    comments: Comments = field(default_factory=Comments)
    target: Target = RUNTIME  #: the SDK that converted code calls
    switches: Switches = NO_SWITCHES  #: options of the target
    evidence: tuple[Evidence, ...] = ()  #: recorded runs of the program
    unbucket: tuple[str, ...] = ()  #: tables whose ids give up their buckets; `all` stands for each

    @property
    def files(self) -> Sequence[File]:
        """The single files: this one, or all that are analysed together."""
        return (self,)

    def program(self, node: cst.CSTNode) -> Sequence[File]:
        """Return all files that may belong to one program with the file that contains `node`, including that one."""
        return (self,)

    def part(self, node: cst.CSTNode) -> File:
        """Return the single file that contains `node`."""
        return self

    def calls(self, *symbols: str) -> list[tuple[cst.Call, str]]:
        """Return the calls of these canonical symbols, in source order."""
        return self.names.calls_of(symbols)


class CreationRule(Rule):
    """Reads calls that create variables."""

    symbols: ClassVar[frozenset[str]]

    refusals: ClassVar[tuple[Refusal, ...]] = OF_CREATIONS

    def read(self, file: File, call: cst.Call) -> Creation:
        """Return the creation; what is not understood is recorded in its `blockers`."""
        raise NotImplementedError


class LookupRule(Rule):
    """Reads calls that may look up rows of a variable."""

    symbols: ClassVar[frozenset[str]]
    takes_lists: ClassVar[bool] = False  #: the table may be given as a list of partitions

    refusals: ClassVar[tuple[Refusal, ...]] = OF_LOOKUPS

    def table(self, call: cst.Call) -> cst.Arg | None:
        """Return the argument that holds the table."""
        raise NotImplementedError

    def find(self, file: File, node: cst.BaseExpression) -> cst.Call | None:
        """Return the call that looks up rows of the table mentioned at `node`; None if it is not of this rule."""
        listed = file.tree.display_with(node) if self.takes_lists else None
        whole = (
            listed if isinstance(listed, cst.List) and len(listed.elements) == 1 else node
        )  # a list of one partition
        call, arg = file.tree.call_with(whole), file.tree.parent(whole)
        known = call is not None and file.names.of(call.func) in self.symbols
        return call if known and call is not None and self.table(call) is arg else None

    def read(self, file: File, call: cst.Call) -> Lookup | Blocker:
        """Return the lookup, or a blocker. Called only if the table argument is known to be a variable."""
        raise NotImplementedError


class UseRule(Rule):
    """Judges uses of a table that are not lookups."""

    applicability: ClassVar[Applicability | None] = None

    def read(self, file: File, reference: cst.BaseExpression) -> Blocker | Adaptation | None:
        """Return a blocker for this use, or how it is adapted; None if the rule does not apply to it."""
        if type(self).of_table is UseRule.of_table:
            raise NotImplementedError
        return None

    def of_table(self, file: File, reference: cst.BaseExpression, creation: Creation) -> Blocker | Adaptation | None:
        """Return the same for a use of the table that `creation` makes."""
        return self.read(file, reference)


@dataclass(frozen=True)
class Remark:
    """A finding about the file, independent of any table."""

    node: cst.CSTNode
    rule: str
    state: State
    message: str
    reason: str = ""
    action: str = ""


class FileRule(Rule):
    """Checks a whole file for code that affects all of its tables.

    One with remarks is asked about every file, or about those that have its `words`.
    """

    applicability = None
    foreign: ClassVar[frozenset[str]] = frozenset()  #: qualified names outside of TensorFlow whose calls it reads

    def remarks(self, file: File) -> Iterator[Remark]:
        """Yield findings that hold even if the file has no table."""
        yield from ()

    def blockers(self, file: File) -> Iterator[Blocker]:
        """Yield blockers for every table of the file."""
        yield from ()


def foreign_symbols() -> frozenset[str]:
    """Return the qualified names of functions outside of TensorFlow that user-defined rules and file rules read."""
    asked = [rule.symbols for rule in local_rules(CreationRule)] + [rule.symbols for rule in local_rules(LookupRule)]
    read = frozenset(symbol for symbols in asked for symbol in symbols if "." in symbol)
    return read.union(*(rule.foreign for rule in rules(FileRule)))


def words_of(rule: Rule) -> str | None:
    """Return a pattern without a match for which a text has nothing that a rule begins with; "" matches every text.

    None: the rule judges tables, which others find.
    """
    if rule.words is not None or isinstance(rule, CreationRule):
        return rule.words
    if isinstance(rule, LookupRule):
        return "|".join(sorted({re.escape(symbol.rpartition(".")[2]) for symbol in rule.symbols}))
    return "" if isinstance(rule, FileRule) and type(rule).remarks is not FileRule.remarks else None


def relevant() -> re.Pattern[str]:
    """Return what a text matches if a rule may find something in it; without, names are not resolved, which is slow."""
    return _any_of(words_of(rule) for rule in rules(Rule))


def about_tables() -> re.Pattern[str]:
    """Return what the text of a program matches somewhere if a rule may find a table in it."""
    return _any_of(words_of(rule) for rule in rules(Rule) if not isinstance(rule, FileRule))


def _any_of(words: Iterable[str | None]) -> re.Pattern[str]:
    return re.compile("|".join(dict.fromkeys(word for word in words if word is not None)))


Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")
Query = Callable[Concatenate[File, Arguments], Answer]


def cached_query(query: Query[Arguments, Answer]) -> Query[Arguments, Answer]:
    """Let a query about a file, with further arguments that are hashable, be computed on the first call only."""

    def cached(file: File, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        answers = file.tree.answers  # in the tree, so that answers that refer to the tree are freed with it
        question = (query, args, *kwargs.items())
        if question not in answers:
            answers[question] = query(file, *args, **kwargs)
        answer: Answer = answers[question]
        return answer

    return cached


def cached_list(query: Query[Arguments, Iterable[Answer]]) -> Query[Arguments, list[Answer]]:
    """Let a query that yields its answers return a list of them, and be computed once."""
    return cached_query(lambda file, *args, **kwargs: list(query(file, *args, **kwargs)))
