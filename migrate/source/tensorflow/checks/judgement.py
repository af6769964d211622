"""The verdicts on the tables of a file, as data: which convert, what blocks others; rules that judge whole programs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.report.model import Finding
from migrate.source.project.analysis_units import FRAMEWORK
from migrate.source.project.import_graph import Project
from migrate.source.rules import Rule
from migrate.source.syntax.tree import Tree
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training
from migrate.source.tensorflow.facts.references.evaluated_text import executes
from migrate.source.tensorflow.facts.training.dense_half import trains_dense

#: The rule of code that is not followed.
OPAQUE = "tf-opaque"


@dataclass
class Judgement:
    """The verdict on each table of a file."""

    file: File
    tables: list[Table]
    training: Training
    file_blockers: list[Blocker] = field(default_factory=list)
    assumed: list[Blocker] = field(default_factory=list)  #: blockers of the whole file that `--assume` lifted

    @property
    def moving(self) -> list[Table]:
        """The tables that become dynamic."""
        free = [table for table in self.tables if not table.blockers]
        if not free or not self.file_blockers:
            return free
        tree = self.file.tree
        alike = {(id(tree.module_of(one.node)), one.rule, one.message): one for one in self.file_blockers}
        return [table for table in free if not any(concerns(self.file, one, table) for one in alike.values())]

    @property
    def steps(self) -> list[Step]:
        """The training steps that may train a converted table."""
        related, moving = self.file.tree.related, self.moving
        return [s for s in self.training.steps if any(s.trains(t) and related(s.call, t.creation.call) for t in moving)]

    def trains_dense(self, step: Step) -> bool:
        """True when a step may also train variables other than tables."""
        calls = {id(table.creation.call) for table in self.moving}
        if step.listed is not None:
            return bool(step.listed.dense) or not step.listed.tables <= calls
        return trains_dense(self.file, step.call, calls)


@dataclass(frozen=True)
class Need:
    """What a table needs, an edge of the graph of tables that move together: it moves where all its partners do."""

    table: Table
    partners: Sequence[frozenset[int]]  #: for each, the calls that may make it, by their `id`: one of them must move
    reason: Callable[[int], Blocker]  #: gives the blocker of the table where the partner of that number stays

    def lacking(self, moving: Collection[int]) -> int | None:
        """Return the number of the first partner that stays; `moving` has the calls whose tables move."""
        return next((number for number, calls in enumerate(self.partners) if calls.isdisjoint(moving)), None)


def spread(judgement: Judgement, needs: Sequence[Sequence[Need]]) -> None:
    """Block the tables whose needs are not met, in groups by rule, until those of all that move are."""
    changed = True
    while changed:
        changed = False
        for group in needs:
            moving = {id(table.creation.call) for table in judgement.moving} if group else set()
            for need in (one for one in group if id(one.table.creation.call) in moving):
                if (unmet := need.lacking(moving)) is not None:
                    need.table.blockers.append(need.reason(unmet))
                    changed = True


def concerns(file: File, blocker: Blocker, table: Table) -> bool:
    """True when a blocker of a whole file applies to this table."""
    call = table.creation.call
    if file.tree.module_of(blocker.node) is file.tree.module_of(call):
        return True
    return file.tree.related(blocker.node, call) and _is_wide(file, blocker, file.part(call).tree)


def _is_wide(file: File, blocker: Blocker, home: Tree) -> bool:
    """True when a blocker of a whole file applies to tables of `home`, another file of the program, too.

    What reads names that it composes reaches the tables of files that it imports, and all by TensorFlow; a text that is
    executed may import either.
    """
    if blocker.rule != OPAQUE:
        return not (isinstance(blocker.node, cst.Module) and blocker.rule == "tf-training-step")
    if blocker.assumption:
        return False
    tree = file.part(blocker.node).tree
    if executes(tree, blocker.node) or FRAMEWORK.search(tree.text):
        return True
    return tree.link is not None and tree.link.imports(home.path)


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
