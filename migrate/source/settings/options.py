"""The options of a conversion."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from migrate.source.settings.rule_selection import ALL, Selection
from migrate.targets.switches import Switches

if TYPE_CHECKING:
    from migrate.schema import Schema
    from migrate.source.evidence.runs import Evidence
    from migrate.source.project.import_graph import Project


NO_SWITCHES = Switches()
#: Whether stated assumptions are accepted: all, none, or those of tables and rules of these names.
Assume: TypeAlias = "bool | tuple[str, ...]"


def jointly(wishes: Iterable[Assume]) -> Assume:
    """Return what is accepted for files that are judged together: what all of them accept."""
    named = [set(wish) if isinstance(wish, tuple) else set[str]() for wish in wishes if wish is not True]
    return tuple(sorted(set.intersection(*named))) if named else True


@dataclass(frozen=True)
class Given:
    """Options of the command line, which override configuration files; None: not given."""

    target: str | None = None
    assume: Assume | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    rules: tuple[str, ...] | None = None  #: files with custom rules
    allow_rules: bool | None = None  #: whether rules that a configuration names may run
    switches: tuple[tuple[str, object], ...] = ()  #: given switches and their values
    exclude: tuple[str, ...] | None = None  #: patterns of files to leave out, relative to the working directory
    entry: tuple[str, ...] | None = None  #: patterns of entry points, relative to the working directory
    evidence: tuple[str, ...] = ()  #: files with records of runs
    unbucket: tuple[str, ...] = ()  #: tables whose ids give up their buckets; `all` stands for each


@dataclass(frozen=True)
class RuleFile:
    """A file with custom rules; the digest of its contents makes options with changed rules unequal."""

    path: str
    digest: str


@dataclass(frozen=True)
class Options:
    """Settings of one conversion."""

    schema: Schema | None = None  #: the feature schema, needed by Paddle sources
    target: str = "runtime"  #: the SDK that converted code calls
    switches: Switches = NO_SWITCHES  #: features of that SDK
    assume: Assume = False  #: also convert tables that need a stated assumption
    selection: Selection = ALL  #: the rules that are applied and reported
    rule_files: tuple[RuleFile, ...] = ()  #: files with custom rules
    evidence: tuple[Evidence, ...] = ()  #: recorded runs of the program
    unbucket: tuple[str, ...] = ()  #: tables whose ids give up their buckets; `all` stands for each
    overrides: Given | None = None  #: command-line options that `config_files.for_file` has not merged yet
    project: Project | None = field(default=None, compare=False, repr=False)  #: all files of the run
