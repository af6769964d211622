"""Programs in which no training step is seen: someone else trains their tables, or nothing does."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from migrate.source.tensorflow.base.model import Blocker
from migrate.source.tensorflow.base.rule_kinds import File
from migrate.source.tensorflow.base.value_flow import sources
from migrate.source.tensorflow.facts.optimizers.external_libraries import LIBRARIES

#: What runs a model: a program with one of these, and no step, only uses what is trained elsewhere.
RUNS = {
    "Session",
    "InteractiveSession",
    "train.MonitoredTrainingSession",
    "train.MonitoredSession",
    "estimator.Estimator",
}
REASON = "after the conversion, whoever trains this model must also train its tables"


def untrained(file: File) -> Iterator[Blocker]:
    """Yield a doubt for a file without a training step, unless its program is whole and trains nothing."""
    program = file.program(file.tree.module)
    handed = next((call for one in program for call in one.tree.calls if _is_handed(one, call)), None)
    runs = any(name in RUNS for one in program for _, name in one.names.calls)
    defines = any(isinstance(line, cst.FunctionDef | cst.ClassDef) for line in file.tree.module.body)
    if (handed is None and (runs or not defines)) or not file.tree.module.body:
        return
    others = len(program) - 1
    action = "convert with --assume and split the optimizer where the model is trained"
    message = "no optimizer in this file trains its tables"
    reason = REASON
    if handed is not None and runs:
        text = " ".join(file.tree.source(handed).split())[:80]
        message = f"no optimizer in this file trains its tables, but `{text}` may, whose code is not read"
    elif others:
        message = f"no optimizer in this file or in the {others} that run with it trains its tables"
    else:
        action = f"give the directory, if the model is trained in another file; or {action}"
    assumption = "the tables are trained where the model is trained"
    yield Blocker(file.tree.module, "tf-training-step", message, reason, action, assumption)


def _is_handed(file: File, call: cst.Call) -> bool:
    """True for a call that gives something to code which is not read: it may be the loss."""
    if not call.args or file.names.of(call.func) is not None or file.tree.is_inside(call.func):
        return False
    if isinstance(call.func, cst.Name) and any(
        isinstance(file.tree.parent(s), cst.Param) for s in sources(file, call.func)
    ):
        return True
    imported, _ = file.tree.imported_names(call.func)
    return any(module.split(".")[0] not in LIBRARIES for module in imported)
