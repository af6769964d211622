"""Finds what recorded runs do with a table's variable that was not read in the source: the table then stays."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst

from migrate.source.tensorflow.base.blockers import blocker
from migrate.source.tensorflow.base.model import Blocker, Table
from migrate.source.tensorflow.checks.evidence.observed import Runs, Seen, Span
from migrate.source.tensorflow.facts.optimizers.training_model import Training
from migrate.trace.record import Use, Variable

RULE = "tf-evidence"


@dataclass(frozen=True)
class _Known:
    """The lines where the source looks a table up, reads it as a whole, trains it, and makes it."""

    lookups: list[Span]
    ends: frozenset[tuple[int, ...]]  #: line and column behind each lookup
    whole: list[Span]
    steps: list[Span]
    made: list[Span]
    files: frozenset[str]  #: those whose source was read together with the table

    def has(self, use: Use, variable: Variable) -> bool:
        """True if the source shows this use of the variable, or it is one that a table has as well."""
        if use.kind in ("save", "shape"):
            return True
        if use.kind == "touch":
            return not use.through and (not use.at or use.at[0][0] in self.files)
        if use.kind == "assign":
            # Only the initial value is below the variable's own name. Adam assigns, too.
            first = use.op.startswith("Assign") and use.name.startswith(f"{variable.name}/") and _any(self.made, use)
            return first or _direct(self.steps, use)
        if use.kind == "update" or "gradients" in use.name:
            return _direct(self.steps, use)
        if use.kind == "lookup":
            return _direct(self.lookups, use) and (not use.end or use.end in self.ends)
        return not use.through and _any(self.whole, use)


def contradictions(runs: Runs, table: Table, training: Training) -> Iterator[Blocker]:
    """Yield a blocker for each op of a run that uses a table's variable where the source shows no such use."""
    yield from _other_optimizers(runs, table, training)
    told: set[tuple[str, str]] = set()
    for seen in runs.seen(table):
        known = _known(runs, seen, table, training)
        for variable, use in ((one, use) for one in seen.variables for use in one.uses):
            place = "{}:{}".format(*use.at[0]) if use.at else "a place outside of the program"
            if not known.has(use, variable) and (use.kind, place) not in told:
                told.add((use.kind, place))
                place += f", by {use.through}" if use.through else ""
                node, record = table.creation.call, seen.run.place
                yield blocker(node, RULE, "used-elsewhere", label=table.label, place=place, op=use.op, record=record)


def _other_optimizers(runs: Runs, table: Table, training: Training) -> Iterator[Blocker]:
    """Yield a blocker for each class of optimizers that trains a table in a run, if the source shows others.

    Another text may put another class behind a name. A class that is not recorded may be any.
    """
    steps = [step for step in training.steps if step.trains(table)]
    shown = {maker.name.rpartition(".")[2] for step in steps for maker in step.optimizer.makers}
    told: set[str] = set()
    for seen in runs.seen(table) if shown else ():
        for use in (use for variable in seen.variables for use in variable.uses if use.optimizer):
            kind = use.optimizer.rpartition(".")[2]
            if kind not in shown | told:
                told.add(kind)
                node, record = table.creation.call, seen.run.place
                yield blocker(node, RULE, "trained-otherwise", label=table.label, kind=kind, record=record)


def _known(runs: Runs, seen: Seen, table: Table, training: Training) -> _Known:
    # A doubt that the run is asked about is no known use: what the code at it does is the question.
    reasons = [one for one in (*table.blockers, *table.assumed, *training.blockers) if not one.run_decides]
    shown = [*(one.node for one in table.adaptations), *(one.node for one in reasons)]
    steps = [step.call for step in training.steps] + [call for call, _ in training.dense]

    def spans(nodes: Iterable[cst.CSTNode]) -> list[Span]:
        return [span for span in runs.spans(seen.run, nodes) if span.first]

    return _Known(
        spans([lookup.call for lookup in table.lookups]),
        frozenset(runs.end(lookup.call) for lookup in table.lookups),
        spans(shown),
        spans([*steps, *(one.node for one in training.blockers if not one.run_decides)]),
        spans([table.creation.call]),
        runs.files(seen.run, table.creation.call),
    )


def _direct(spans: list[Span], use: Use) -> bool:
    """True if one of these lines makes the op itself, not code that it calls: that may use the variable in its own way.

    An op without a line of the program is known nowhere.
    """
    return not use.through and any(span.holds_first(use) for span in spans)


def _any(spans: list[Span], use: Use) -> bool:
    return any(span.holds(use) for span in spans)
