"""What the user asked for, as far as a frontend needs to know."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from migrate.source.settings.rule_selection import ALL, Selection
from migrate.targets.switches import Switches

if TYPE_CHECKING:
    from migrate.schema import Schema
    from migrate.source.project.import_graph import Project


NO_SWITCHES = Switches()


@dataclass(frozen=True)
class Given:
    """What the command line says, which stands above every configuration file; None: nothing."""

    target: str | None = None
    assume: bool | None = None
    select: tuple[str, ...] | None = None
    ignore: tuple[str, ...] | None = None
    rules: tuple[str, ...] | None = None  #: files of rules
    switches: tuple[tuple[str, object], ...] = ()  #: those that are given


@dataclass(frozen=True)
class RuleFile:
    """A file of the user's own rules; its contents are part of what was asked."""

    path: str
    digest: str


@dataclass(frozen=True)
class Options:
    """Settings of one conversion."""

    schema: Schema | None = None  #: the feature schema, needed by Paddle sources
    target: str = "runtime"  #: which SDK the emitted code calls
    switches: Switches = NO_SWITCHES  #: features of that SDK
    assume: bool = False  #: also apply edits that hold only under a stated assumption
    mark: bool = False  #: write into the code what keeps its tables
    selection: Selection = ALL  #: the rules that may change code and are reported
    rule_files: tuple[RuleFile, ...] = ()  #: the user's own rules
    given: Given | None = None  #: set until `config.for_file` has made these the options of one file
    project: Project | None = field(default=None, compare=False, repr=False)  #: the files of the run, to judge together
