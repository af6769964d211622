"""Lifts the doubts that recorded runs decide, and keeps the tables that they contradict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from migrate.report.model import Applicability
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.checks.evidence.contradictions import contradictions
from migrate.source.tensorflow.checks.evidence.decisions import DECISIONS
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
    shared = [blocker for blocker in judgement.file_blockers if blocker.evidence]
    for blocker in shared:
        judgement.file_blockers.remove(blocker)
        for table in judgement.tables:
            if concerns(judgement.file, blocker, table):
                table.blockers.append(blocker)


def _settle(runs: Runs, judgement: Judgement, table: Table) -> bool:
    seen = list(runs.seen(table))
    if not seen:
        table.blockers[:] = [_unreached(one, "no recorded run made this table") for one in table.blockers]
        return False
    found = [one for one in contradictions(runs, table, judgement.training) if one not in table.blockers]
    table.blockers += found
    if any(one.rule == "tf-evidence" for one in table.blockers):
        return False
    before = {(id(one.node), one.rule, one.key) for one in table.assumed}
    runs_of = [one.run for one in seen if not one.run.completed]
    failed = dict.fromkeys(f"the run of {run.place} ended {run.record.ended}" for run in runs_of)
    why = "; ".join(failed) or "no recorded run decides this"
    left, lifted = [], []
    for blocker in table.blockers:
        said = _decided(runs, seen, blocker)
        if said:
            lifted.append(said)
        else:
            left.append(_unreached(blocker, why))
    table.blockers[:] = left
    fresh = [one for one in lifted if (id(one.node), one.rule, one.key) not in before]
    table.assumed += fresh
    return bool(fresh)


def _decided(runs: Runs, seen: Sequence[Seen], blocker: Blocker) -> Blocker | None:
    """Return the blocker as what the runs say in its place; None if they do not decide it."""
    if not blocker.evidence:
        return None
    said = [DECISIONS[word](runs, seen, blocker) for word in blocker.evidence.split()]
    if not all(said):
        return None
    places = ", ".join(dict.fromkeys(one.run.place for one in seen))
    about_creation = "this variable cannot" in blocker.message
    doubt = blocker.assumption or (blocker.reason if about_creation else blocker.message)
    text = f"{doubt} ({places}: {'; '.join(said)})"
    return replace(blocker, assumption="", decided=text, applicability=Applicability.OBSERVED)


def _unreached(blocker: Blocker, why: str) -> Blocker:
    """Return a blocker that evidence might have lifted, with why it did not."""
    if not blocker.evidence or blocker.reason.endswith(f"; {why}"):
        return blocker
    return replace(blocker, reason=f"{blocker.reason}; {why}")
