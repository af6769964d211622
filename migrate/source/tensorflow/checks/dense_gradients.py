"""Rows that an update reaches although the batch does not name them.

A matmul gives a variable a gradient with a row for every id: an optimizer with momentum moves all rows by it, and equal
ids are summed before it is clipped. A table is updated by the rows of the batch.
"""

from __future__ import annotations

import libcst as cst

from migrate.source.tensorflow.base.model import Blocker, Lookup, Table
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.facts.optimizers.training_model import Training

#: A row without a gradient stays as it is, or is moved by the table's optimizer as well.
STILL = {"train.GradientDescentOptimizer", "train.AdagradOptimizer", "train.AdamOptimizer"}
STILL |= {"train.ProximalGradientDescentOptimizer", "train.ProximalAdagradOptimizer"}
CLIPS = ("clip_by_norm", "clip_by_value", "clip_by_global_norm", "clip_by_average_norm")


def check_idle_rows(file: File, tables: list[Table], training: Training) -> None:
    """Add a doubt to each table that an optimizer or a clip would treat in another way than its variable."""
    for table in tables:
        steps = [step for step in training.steps if step.trains(table)]
        makers = [maker for step in steps for maker in step.optimizer.makers if maker.name not in STILL]
        clips = any(not step.is_minimize for step in steps) and bool(file.calls(*CLIPS))
        idle = next((lookup for lookup in table.lookups if lookup.idle), None)
        dense = next((lookup for lookup in table.lookups if lookup.dense), None)
        if idle is not None and not training.steps:
            table.creation.notes.append(
                f"{idle.idle}: SGD, Adagrad and Adam train the table as the variable was trained"
            )
        if idle is not None and makers:
            table.blockers.append(_moves(idle, makers[0].name.rpartition(".")[2]))
        if dense is not None and clips:
            table.blockers.append(_clipped(dense.call, dense.rule, dense.idle))
        term = next((blocker for blocker in table.blockers if blocker.takes_rows), None)
        if term is not None and clips:
            table.blockers.append(
                _clipped(term.node, term.rule, "a term over the whole table makes its gradient a matrix")
            )


def _moves(lookup: Lookup, optimizer: str) -> Blocker:
    message = f"`{optimizer}` also moves rows whose gradient is zero"
    action = "train with SGD, Adagrad or Adam, or convert with --assume"
    return Blocker(
        lookup.call, lookup.rule, message, lookup.idle, action, "rows that a batch does not name need no update"
    )


def _clipped(node: cst.CSTNode, rule: str, why: str) -> Blocker:
    reason = f"{why}, in which equal ids are summed; a table's gradient has a row for each use of an id"
    message = "the gradient of this variable is clipped"
    action = "convert with --assume if the small difference is welcome"
    return Blocker(node, rule, message, reason, action, "clipping may count each use of an id apart")
