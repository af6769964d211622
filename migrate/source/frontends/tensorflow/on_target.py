"""What the SDK that is converted to lacks, trains otherwise, or does by its switches: asked before a table may move."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import libcst as cst

from migrate.report.model import Applicability
from migrate.source.frontends.tensorflow.facts import Followed, Stop, Table
from migrate.source.frontends.tensorflow.kinds import File
from migrate.source.frontends.tensorflow.optimizers import RULE as OPTIMIZER
from migrate.source.frontends.tensorflow.reuse import may_reuse
from migrate.source.frontends.tensorflow.training import Training
from migrate.source.frontends.tensorflow.variable_lists import RULE as COLLECTION

if TYPE_CHECKING:
    from migrate.source.frontends.tensorflow.judge import Judgement

RULE = "tf-target"
USE = "`--target runtime` converts it"


def check_target(judgement: Judgement) -> None:
    """Add what the target and its switches mean for the tables and for the whole file."""
    file = judgement.file
    for table in judgement.tables:
        _check_functions(file, table)
        _check_reuse(file, table)
        _note_effects(file, table)
    if not file.target.splits:
        stops = judgement.file_stops
        stops[:] = [_read_as_a_whole(file, stop) if stop.rule == COLLECTION else stop for stop in stops]
    judgement.file_stops += _optimizers(file, judgement.training)


def _check_functions(file: File, table: Table) -> None:
    """Stop a table with an idiom that has no spelling."""
    lacks = file.target.lacks(file.switches)
    for index, stop in enumerate(table.stops):
        if stop.takes_rows and "looked_up_rows" in lacks:
            table.stops[index] = _lacking(file, stop.node, stop.rule, stop.message, lacks["looked_up_rows"])
    creation = table.creation
    if creation.emitted in lacks:
        message = f"`{table.label}` makes a table of its own"
        table.stops.append(_lacking(file, creation.call, creation.rule, message, lacks[creation.emitted]))
    for lookup in table.lookups:
        functions = lookup.rewrite.functions if lookup.rewrite is not None else (lookup.function,)
        for name in functions:
            if name in lacks:
                message = f"this lookup would become `{name}`"
                table.stops.append(_lacking(file, lookup.call, lookup.rule, message, lacks[name]))


def _lacking(file: File, node: cst.CSTNode, rule: str, message: str, lacking: str) -> Stop:
    return Stop(node, rule, message, f"{file.target.title} has no {lacking}", USE)


def _check_reuse(file: File, table: Table) -> None:
    """A name that is made twice is one variable, which most SDKs refuse to make again."""
    if file.target.reuses or table.creation.unique or table.creation.emitted or not may_reuse(file):
        return
    reason = f"the program reuses variables by their names, and {file.target.title} makes a table once"
    assumption = f"the variable of `{table.label}` is made once"
    action = f"convert with --assume if it is; {USE}"
    table.stops.append(Stop(table.creation.call, RULE, "this variable may be reused", reason, action, assumption))


def _note_effects(file: File, table: Table) -> None:
    call = table.creation.call
    for effect in file.target.effects(file.switches):
        if effect.changes_values:
            asked = Stop(call, RULE, effect.text, "", "", effect.text, applicability=Applicability.CHANGES_VALUES)
            table.assumed.append(asked)
        if effect.by_hand or not effect.changes_values:
            module = file.tree.module_of(call)
            table.followed.append(Followed(module, RULE, effect.text, action=effect.by_hand))


def _read_as_a_whole(file: File, stop: Stop) -> Stop:
    reason = f"a table of {file.target.title} is among the variables, and its value cannot be read as a whole"
    return replace(stop, reason=reason, action=USE, assumption="", changes=())


def _optimizers(file: File, training: Training) -> Iterator[Stop]:
    known = file.target.optimizers(file.switches)
    for maker in {id(m.call): m for step in training.steps for m in step.optimizer.makers}.values():
        follows = known.get(maker.stock.module)
        text = " ".join(file.tree.source(maker.call.func).split())
        if follows is None:
            reason = f"{file.target.title} has no table optimizer that computes the same as {maker.name.split('.')[-1]}"
            yield Stop(maker.call, OPTIMIZER, f"`{text}` trains the tables of this file", reason, USE)
        elif follows.difference:
            message = f"`{text}` trains a table of {file.target.title} in another way"
            action = f"convert with --assume if that will do; {USE} exactly"
            changes = Applicability.CHANGES_VALUES
            yield Stop(
                maker.call, OPTIMIZER, message, follows.difference, action, follows.difference, applicability=changes
            )
