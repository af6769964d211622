"""What a proof keeps for the report besides differences: losses by step, and the memory of tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison, Memory, Series

Array = NDArray[Any]


@dataclass(frozen=True)
class Held:
    """What the converted program's table holds after the last step."""

    rows: int
    slots: int  #: optimizer slots of each row
    bytes: int  #: as `runtime.status()` counts them


def by_step(found: Comparison, original: Array, converted: Array, reference: Array | None = None) -> Comparison:
    """Return the comparison of a loss over steps, with the losses; unchanged where a step has several numbers.

    Args:
        found: the comparison of these losses.
        original: one number a step [steps].
        converted: the same of the converted program.
        reference: the same of the original in float64; None, or the original's own, where there is no float64 run.
    """
    sides = [np.asarray(side, np.float64) for side in (original, converted)]
    if sides[0].ndim != 1 or sides[0].shape != sides[1].shape:
        return found
    judge = np.asarray(sides[0] if reference is None else reference, np.float64)
    known = judge.shape == sides[0].shape and not np.array_equal(judge, sides[0], equal_nan=True)
    losses = [tuple(side.tolist()) for side in sides]
    one = Series(found.name, losses[0], losses[1], tuple(judge.tolist()) if known else ())
    return replace(found, series=(one,))


def held(widths: Mapping[str, tuple[int, int]]) -> dict[str, Held]:
    """Return what the tables of this process hold, by name; tables that are not live any more are left out.

    Args:
        widths: table -> (its dim, floats of all optimizer slots of a row).
    """
    import runtime  # only in the process of the converted program

    live = {one.name: one for one in runtime.status().tables}
    return {
        name: Held(live[name].rows, slots // dim if dim else 0, live[name].bytes)
        for name, (dim, slots) in widths.items()
        if name in live
    }


def held_by(weights: Mapping[str, Any], session: Any) -> dict[str, Held]:
    """Return what the tables among the weights of a `runtime.nn` model hold, by the weights' paths."""
    tables = {name: weight.table for name, weight in weights.items() if weight.is_table}
    slots = {name: session.run(table.snapshot()[2]).shape[1] for name, table in tables.items()}
    found = held({table.table_name: (table.dim, slots[name]) for name, table in tables.items()})
    return {name: found[table.table_name] for name, table in tables.items() if table.table_name in found}


def memory(table: str, held_: Held | None, values: Sequence[Array], slots: Sequence[Array] | None) -> list[Memory]:
    """Return what a table takes beside its variable; nothing where the table does not hold just the variable's rows.

    Args:
        table: the table's name.
        held_: what the table holds; None if it is unknown.
        values: the variable, or its parts side by side.
        slots: the optimizer's variables for it; None where they are not known, but are those of the table.
    """
    if held_ is None or any(len(value) != held_.rows for value in values):
        return []
    size = sum(value.nbytes for value in values)
    before = size + (size * held_.slots if slots is None else sum(slot.nbytes for slot in slots))
    return [Memory(table, held_.rows, held_.slots, before, held_.bytes)]
