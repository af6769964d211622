"""Which terms over all rows of tables are exact, and what stands in the place of the others."""

from __future__ import annotations

from collections.abc import Iterable

from migrate.source.tensorflow.base.model import Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.checks.judgement import Judgement
from migrate.source.tensorflow.facts.calls.execution_count import exclusive
from migrate.source.tensorflow.facts.optimizers.optimizers import IdleRows
from migrate.source.tensorflow.facts.optimizers.training_model import Step, Training, owner
from migrate.source.tensorflow.facts.references.whole_terms import checked_term

CLIPS = ("clip_by_norm", "clip_by_value", "clip_by_global_norm", "clip_by_average_norm")


def settle_terms(judgement: Judgement) -> None:
    """Replace the terms over all rows that training does not allow by those over the rows of the batch, or by blockers.

    Tables that share the code of a term have one form of it.
    """
    file, tables = judgement.file, judgement.tables
    terms = [(table, use) for table in tables for use in table.adaptations if use.otherwise is not None]
    why = {id(table): why_not(file, judgement.training, [table]) for table, _ in terms}
    reasons: dict[int, str] = {}
    shared = True
    while shared:
        shared = False
        for table, use in terms:
            nodes = {id(use.node), *(id(change.node) for change in use.changes)}
            reason = why[id(table)] or next((reasons[node] for node in nodes if node in reasons), "")
            if reason and not nodes <= reasons.keys():
                reasons.update(dict.fromkeys(nodes, reason))
                shared = True
    for table, use in terms:
        if id(use.node) in reasons and use.otherwise is not None:
            table.adaptations.remove(use)
            term = use.otherwise(reasons[id(use.node)])
            table.blockers.append(checked_term(file, table, term) if term.takes_rows else term)


def why_not(file: File, training: Training, tables: Iterable[Table]) -> str:
    """Return why terms over all rows of tables, which are taken together, cannot be exact; empty if they can."""
    return next((why for table in tables if (why := _why_not(file, training, table))), "")


def _why_not(file: File, training: Training, table: Table) -> str:
    lacking = file.target.lacks(file.switches).get("l2_loss")
    if lacking or "l2_loss" not in file.target.functions:
        return f"{file.target.title} has no {lacking or 'term over all rows of a table'}"
    creation = table.creation
    if not (creation.rows_text or creation.first_rows.matrix is not None) or creation.target_function:
        return "the number of its rows is not known"
    steps = [step for step in training.steps if step.trains(table)]
    if any(_same_run(file, one, other) for position, one in enumerate(steps) for other in steps[:position]):
        return "several training steps change the rows, and a table can postpone the steps of one kind alone"
    makers = [maker for step in steps for maker in step.optimizer.makers]
    other = next((maker for maker in makers if maker.stock.idle_rows is IdleRows.LEFT), None)
    if other is not None:
        return f"`{other.name.rpartition('.')[2]}` changes the rows of a batch alone"
    if any(not step.is_minimize for step in steps) and file.calls(*CLIPS):
        return "the gradients may be clipped, which needs the gradient of every row"
    return ""


def _same_run(file: File, step: Step, other: Step) -> bool:
    """True if one program may take both steps."""
    return owner(file, step.call) is owner(file, other.call) and not exclusive(file, step.call, other.call)
