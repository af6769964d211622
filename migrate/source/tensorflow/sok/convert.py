"""The conversion of a file for SparseOperationKit: its edits where nothing blocks it, and its findings."""

from __future__ import annotations

import libcst as cst

from migrate.report.model import Finding, State
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.edits.unseen_lookups import block_looked_up_elsewhere
from migrate.source.tensorflow.edits.whole_file_draft import Draft
from migrate.source.tensorflow.edits.whole_file_findings import WholeFile, Wording, judged
from migrate.source.tensorflow.sok.gradients import read_gradients
from migrate.source.tensorflow.sok.horovod import Horovod
from migrate.source.tensorflow.sok.local_uses import read_transfers
from migrate.source.tensorflow.sok.lookups import read_lookups
from migrate.source.tensorflow.sok.optimizers import read_optimizers
from migrate.source.tensorflow.sok.program import read_program
from migrate.source.tensorflow.sok.stored import read_stores
from migrate.source.tensorflow.sok.symbols import FILTERS, HOMES, MAKERS, OPTIMIZER, VARIABLE, reads_sok, sok_calls
from migrate.source.tensorflow.sok.tables import Tables
from migrate.source.tensorflow.sok.variable_uses import read_filters, read_uses
from migrate.source.tensorflow.sok.variables import Made, read_makers

WORDING = Wording("SOK", "SOK's variables", "`python -m runtime.compat.sok` runs the program as it is")


def sok_variables(file: File, assume: bool) -> WholeFile:
    """Return the conversion of a file that imports SOK; empty for any other file."""
    if not reads_sok(file):
        return WholeFile()
    if file.target.name != "runtime":
        return WholeFile(findings=_elsewhere(file))
    draft = Draft(file, HOMES)
    made = read_makers(draft)
    tables = Tables(draft, [one.call for one in made])
    read_filters(draft)
    read_lookups(draft, tables)
    read_transfers(draft, tables, made)
    read_stores(draft, tables)
    read_uses(draft, tables, made)
    read_optimizers(draft, tables, made)
    read_gradients(draft, tables, made)
    _doubt_steps(draft, tables, made)
    _doubt_variables(draft, made)
    parts = {one.call: one.part for one in made}
    calls = ((value, value.node) for value in tables.made)
    block_looked_up_elsewhere(draft, tables.flow, ((one, parts[at]) for one, at in calls if isinstance(at, cst.Call)))
    horovod = Horovod(draft, tables)
    horovod.read()
    read_program(draft, horovod)
    horovod.tell()
    return judged(draft, assume, WORDING)


def _doubt_steps(draft: Draft, tables: Tables, made: list[Made]) -> None:
    """Block tables that another file may train: an unconverted step, which reads SOK's variables, would miss them."""
    imported = draft.tree.link is not None and draft.tree.link.imported()
    if not made or not (tables.held or imported) or any(part.rule == OPTIMIZER for part in draft.parts):
        return
    draft.block(made[0].call, VARIABLE, "trained-elsewhere", label=made[0].part.label)


def _doubt_variables(draft: Draft, made: list[Made]) -> None:
    """Block code that trains variables of another file: if that file is not converted, they are no tables."""
    trains = {"OptimizerWrapper", "SGD", "optimizers.Adam", "optimizers.LazyAdamOptimizer", *FILTERS}
    call = next((call for call, name in sok_calls(draft.file) if name in trains), None)
    if made or call is None:
        return
    shown = " ".join(draft.tree.source(call).split())[:60]
    draft.block(call, OPTIMIZER, "trains-others", shown=shown)


def _elsewhere(file: File) -> list[Finding]:
    """Report, for another target than the runtime, why each variable is left unchanged."""
    own, found = file.target.name == "sok", []
    for call, name in sok_calls(file):
        if name not in MAKERS:
            continue
        message, reason, action = f"`{name}` is SOK's own", "the target has it", ""
        if not own:
            message, reason = (
                f"`{name}` is SOK's",
                f"it can be converted for the runtime, but not for {file.target.title}",
            )
            action = "leave --target out"
        state = State.NOTED if own else State.UNSUPPORTED
        found.append(Finding(VARIABLE, "table", state, file.tree.location(call), message, reason, action))
    return found
