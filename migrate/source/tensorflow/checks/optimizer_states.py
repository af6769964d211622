"""What a table would lack of the states that several steps have: slots of each optimizer, and counts of its steps."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.execution_count import exclusive
from migrate.source.tensorflow.facts.optimizers.training_model import RULE, Step, owner
from migrate.source.tensorflow.facts.references.whole_terms import EXACTLY
from migrate.source.tensorflow.facts.training.dense_half import reaches
from migrate.source.tensorflow.facts.training.training_checks import two_optimizers


def states(judgement: Judgement) -> Iterator[Blocker]:
    """Block a table that two functions or classes can train, each by an optimizer with its own slots.

    Where each has slots of its own in the table, a term over all rows blocks: `settle_terms` refuses those of two steps
    of one function alone.
    """
    terms = [table for table in judgement.moving if any(EXACTLY in one.message for one in table.adaptations)]
    file, steps = judgement.file, judgement.training.steps
    homes = list({id(h): h for h in (owner(file, table.creation.call) for table in judgement.moving)}.values())
    for i, first in enumerate(steps):
        for second in steps[i + 1 :]:
            if (
                first.shares(second)
                and _separate_states(file, first, second)
                and any(_trains(file, first, home) and _trains(file, second, home) for home in homes)
            ):
                found = two_optimizers(file, first, second, steps)
                yield from found or ([blocker(second.call, RULE, "two-ordered")] if terms else [])


def halves(judgement: Judgement) -> Iterator[Blocker]:
    """Block where the two halves of an optimizer would count different numbers of steps.

    Adam counts each of its steps for all variables: a step without a dense or sparse half would not count in it. What
    a loss reaches is known at run time, so two steps of one such optimizer keep the tables, unless both list variables.
    """
    steps = [step for step in judgement.training.steps if any(m.stock.counts for m in step.optimizer.makers)]
    moving = [step for step in steps if any(step is one for one in judgement.steps)]
    for step in moving:
        made = {id(maker.call) for maker in step.optimizer.makers}
        for other in steps:
            if other is step or not made & {id(maker.call) for maker in other.optimizer.makers}:
                continue
            tables = any(other is one for one in moving)
            listed = tables and step.listed is not None and other.listed is not None
            if not listed or judgement.trains_dense(step) is not judgement.trains_dense(other):
                text = judgement.file.tree.one_line(other.call)
                what = "one half of its variables" if tables else "dense variables"
                yield blocker(other.call, RULE, "other-half", text=text, what=what)
                return


def _separate_states(file: File, first: Step, second: Step) -> bool:
    """True for steps of two functions or classes whose optimizers differ and have slots."""
    makers = [m for step in (first, second) for m in step.optimizer.makers]
    same = {id(m.call) for m in first.optimizer.makers} == {id(m.call) for m in second.optimizer.makers}
    if same or not any(m.stock.stateful for m in makers) or exclusive(file, first.call, second.call):
        return False
    apart = owner(file, first.call) is not owner(file, second.call)
    return apart and file.tree.related(first.call, second.call)


def _trains(file: File, step: Step, table_home: cst.CSTNode) -> bool:
    home = owner(file, step.call)
    return reaches(file, home, table_home) or reaches(file, table_home, home)
