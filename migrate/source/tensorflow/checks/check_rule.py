"""The kind of rules that judge whole programs, once their tables and training steps are known."""

from __future__ import annotations

from collections.abc import Iterator

from migrate.report.model import Finding
from migrate.source.project.import_graph import Project
from migrate.source.rules import Rule
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement


class CheckRule(Rule):
    """Judges the tables of a program; `verdicts.ORDER` says which rule is asked first."""

    def of_text(self, path: str, text: str, project: Project) -> Iterator[Finding]:
        """Yield findings about a file of a project which may have no table, and need not even parse."""
        yield from ()

    def of_file(self, judgement: Judgement, file: File) -> Iterator[Blocker]:
        """Yield reasons that keep every table of one of the files."""
        yield from ()

    def judge(self, judgement: Judgement) -> None:
        """Add what keeps tables, and what follows them."""

    def judge_moving(self, judgement: Judgement) -> None:
        """Keep what cannot move beside the others that move, or stay; asked again when doubts are lifted."""
