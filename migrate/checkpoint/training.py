"""Finds the optimizer that trained the variable of a checkpoint. Imports TensorFlow."""

from __future__ import annotations

from migrate.errors import MigrateError
from migrate.report.model import TableRecord
from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.rows import optimizer_slots
from runtime.checkpoint.variable_names import find_slots, find_variable, optimizers_by_slots, slots_in_version_1
from runtime.native.update_rules import UPDATE_RULES

#: Optimizers of version 1: class name in reports -> name in checkpoints of tables; of rules for one class the first.
OPTIMIZERS = {
    rule.stock[0]: rule.name
    for rule in reversed(UPDATE_RULES.values())
    if rule.stock[:1] and rule.stock[0].endswith("Optimizer")
}


def trained_by(table: TableRecord, variable: str, bundle: Bundle) -> str | None:
    """Return the optimizer whose slots the checkpoint has for a variable, or None where it has none.

    The report names those that the program may choose from, of a graph by the runtime's names. Which it was, the names
    of the slots tell.

    Raises:
        CheckpointError: there is no such variable.
        MigrateError: there are slots of no such optimizer, or of several.
    """
    find_variable(bundle, variable)
    named = table.optimizer.split(", ")
    possible = {OPTIMIZERS.get(name, name) for name in named}
    if not possible <= {rule.name for rule in UPDATE_RULES.values()}:  # the report does not know them all
        possible = {*OPTIMIZERS.values()}
    if "rmsprop" in possible:
        possible.add("rmsprop_centered")
    found = {name: slots for name, slots in optimizers_by_slots(bundle, variable).items() if name in possible}
    if len(found) == 1:
        return min(found)
    others = slots_in_version_1(bundle, variable)
    if possible == {"sgd"} or not others:
        return min(possible) if len(possible) == 1 else None
    fitting = [name for name in sorted(possible) if _has_slots(name, variable, bundle)]
    if len(fitting) == 1:
        return fitting[0]
    trained = " or ".join(named) if table.optimizer else "an optimizer that the report does not know"
    raise MigrateError(
        f"{bundle.path}: which of {', '.join(sorted(others))} are the slots of `{variable}`, trained by {trained}, is "
        "not known; fill the table in the converted program with runtime.checkpoint.warm_start(table, path, "
        "variable_name, slots={…})"
    )


def _has_slots(optimizer: str, variable: str, bundle: Bundle) -> bool:
    slots = optimizer_slots(optimizer)
    return bool(slots and find_slots(bundle, variable, optimizer, slots))
