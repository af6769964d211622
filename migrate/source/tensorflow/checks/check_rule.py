"""Rules that judge a whole program, once its tables and training steps are known."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import Finding
from migrate.source.project.import_graph import Project
from migrate.source.rules import Rule
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement, Need


class CheckRule(Rule):
    """Judges the tables of a program; `verdicts.ORDER` is the order of these rules."""

    def of_text(self, path: str, text: str, project: Project) -> Iterator[Finding]:
        """Yield findings for a file of a project; it may have no table, and may have syntax errors."""
        yield from ()

    def of_file(self, judgement: Judgement, file: File) -> Iterator[Blocker]:
        """Yield blockers of every table of one of the files."""
        yield from ()

    def judge(self, judgement: Judgement) -> None:
        """Add blockers and adaptations to the tables."""

    def needs(self, judgement: Judgement) -> Iterator[Need]:
        """Yield what else must move for a table to move; what stays then spreads from table to table."""
        yield from ()

    def judge_moving(self, judgement: Judgement) -> None:
        """Block tables that cannot move beside others that do; asked once more as if `--assume` lifted all doubts."""
