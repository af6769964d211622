"""Lifts doubts about what a program does with its tables, where recorded runs show it, and keeps those they contradict.

A doubt is lifted where a run executed the code in doubt, and the graph moves the table: nothing but what the source
shows uses it there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from migrate.report.model import Applicability
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.checks.evidence.contradictions import contradictions
from migrate.source.tensorflow.checks.evidence.observed import Runs, Seen
from migrate.source.tensorflow.checks.judgement import Judgement, concerns


def settle(judgement: Judgement) -> bool:
    """Apply the evidence to all tables; return whether it lifted a doubt that was not lifted before.

    A doubt about whole files is afterwards one of the tables that it still concerns.
    """
    if not judgement.file.evidence:
        return False
    runs = Runs(judgement.file, judgement.file.evidence)
    _part(judgement)
    lifted = [_settle(runs, judgement, table) for table in judgement.tables]
    return any(lifted)


def _part(judgement: Judgement) -> None:
    """Give the doubts about whole files that a run may decide to the tables that they concern."""
    shared = [blocker for blocker in judgement.file_blockers if blocker.run_decides]
    for blocker in shared:
        judgement.file_blockers.remove(blocker)
        for table in judgement.tables:
            if concerns(judgement.file, blocker, table):
                table.blockers.append(blocker)


def _settle(runs: Runs, judgement: Judgement, table: Table) -> bool:
    seen = list(runs.seen(table))
    table.blockers += [one for one in contradictions(runs, table, judgement.training) if one not in table.blockers]
    if any(one.rule == "tf-evidence" for one in table.blockers):
        return False
    before = {(id(one.node), one.rule, one.key) for one in table.assumed}
    known = _moves(seen)
    asked = {id(one): one.run_decides and known and _ran(runs, seen, one) for one in table.blockers}
    lifted = [_decided(one, seen) for one in table.blockers if asked[id(one)]]
    why = "no recorded run decides this" if seen else "no recorded run made this table"
    table.blockers[:] = [_undecided(one, why) for one in table.blockers if not asked[id(one)]]
    fresh = [one for one in lifted if (id(one.node), one.rule, one.key) not in before]
    table.assumed += fresh
    return bool(fresh)


def _moves(seen: Sequence[Seen]) -> bool:
    """Whether the variables move in each graph that looks them up, each trained by one optimizer at most."""
    found = [variable for one in seen for variable in one.variables if variable.table or variable.reads]
    return bool(found) and all(one.table and one.optimizers < 2 for one in found)


def _ran(runs: Runs, seen: Sequence[Seen], doubt: Blocker) -> bool:
    made = {id(one.run): one.run for one in seen}.values()
    return any(run.completed and runs.reached(run, doubt.node) for run in made)


def _decided(blocker: Blocker, seen: Sequence[Seen]) -> Blocker:
    """Return the blocker as what the runs say in its place."""
    places = ", ".join(dict.fromkeys(one.run.place for one in seen))
    text = f"{blocker.assumption or blocker.message} ({places}: it ran, and the graph moves the table)"
    return replace(blocker, assumption="", decided=text, applicability=Applicability.OBSERVED)


def _undecided(blocker: Blocker, why: str) -> Blocker:
    """Return a blocker that evidence might have lifted, with why it did not."""
    if not blocker.run_decides or blocker.reason.endswith(f"; {why}"):
        return blocker
    return replace(blocker, reason=f"{blocker.reason}; {why}")
