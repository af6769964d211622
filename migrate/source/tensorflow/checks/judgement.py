"""The verdicts on the tables of a file, as data: which are converted, and the blockers of the others."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import libcst as cst

from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training
from migrate.source.tensorflow.facts.training.dense_half import trains_dense

#: Rules whose blockers apply only to their own file.
OWN = {"tf-opaque"}


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
        own = {id(tree.module_of(blocker.node)) for blocker in self.file_blockers}
        wide = {id(tree.module_of(blocker.node)): blocker for blocker in self.file_blockers if _is_wide(blocker)}
        return [
            table
            for table in free
            if id(tree.module_of(table.creation.call)) not in own
            and not any(tree.related(blocker.node, table.creation.call) for blocker in wide.values())
        ]

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
    if file.tree.module_of(blocker.node) is file.tree.module_of(table.creation.call):
        return True
    return _is_wide(blocker) and file.tree.related(blocker.node, table.creation.call)


def _is_wide(blocker: Blocker) -> bool:
    """True when a blocker of a whole file applies to tables of other files of the program, too."""
    return blocker.rule not in OWN and not (isinstance(blocker.node, cst.Module) and blocker.rule == "tf-training-step")
