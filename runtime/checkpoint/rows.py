"""The rows of one table as arrays, and their tensors in a checkpoint."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from runtime.checkpoint.bundle import Bundle, CheckpointError
from runtime.checkpoint.variable_names import full_names
from runtime.native.update_rules import UPDATE_RULES, joined_kind, rule_of

#: The tensors of a table in a checkpoint, and in an increment.
PARTS = ("keys", "values", "slots", "meta")
DELTA_PARTS = (*PARTS, "removed")
DELTA_JOINT = "/delta/"
_DELTA_JOINTS = (DELTA_JOINT, "/rows/.ATTRIBUTES/delta_")

# What separates a table's name from a part: in a Saver, and in tf.train.Checkpoint in a graph and in eager mode.
_JOINTS = ("-", "/rows/.ATTRIBUTES/", "/.ATTRIBUTES/")


@dataclasses.dataclass(frozen=True)
class TableRows:
    """A snapshot: keys int64 [n], values float32 [n, dim], slots float32 [n, width], meta int64 [m]."""

    keys: NDArray[np.int64]
    values: NDArray[np.float32]
    slots: NDArray[np.float32]
    #: [format version, seed, dim, slots per row, optimizer kind, …]
    meta: NDArray[np.int64]

    def __post_init__(self) -> None:
        """Check that the parts are consistent.

        Raises:
            CheckpointError: shapes or metadata contradict each other.
        """
        rows = len(self.keys)
        fits = self.keys.ndim == self.meta.ndim == 1 and self.values.ndim == self.slots.ndim == 2
        if not fits or len(self.values) != rows or len(self.slots) != rows:
            shapes = {part: getattr(self, part).shape for part in PARTS}
            raise CheckpointError(f"rows of shapes {shapes} do not belong together: export the table again")
        if len(self.meta) < 5 or self.dim != self.values.shape[1] or self.slots.shape[1] < self.slot_count * self.dim:
            raise CheckpointError(
                f"meta data {self.meta.tolist()} does not fit values {self.values.shape} and slots "
                f"{self.slots.shape}: export the table again"
            )

    @property
    def seed(self) -> int:
        """The seed of the table's initial rows."""
        return int(self.meta[1])

    @property
    def dim(self) -> int:
        """Values per row."""
        return int(self.meta[2])

    @property
    def slot_count(self) -> int:
        """Optimizer slots per row, each `dim` wide."""
        return int(self.meta[3])

    @property
    def optimizer(self) -> str:
        """The optimizer that the slots belong to, several joined by `+`; `none` before the first update."""
        known = rule_of(int(self.meta[4]))
        return known[0] if known else f"kind_{self.meta[4]}"

    def slot(self, number: int) -> NDArray[np.float32]:
        """Return slot `number` of all rows, [n, dim]."""
        return self.slots[:, number * self.dim : (number + 1) * self.dim]

    def take(self, chosen: NDArray[Any]) -> TableRows:
        """Return the rows that an index or boolean array selects."""
        return TableRows(self.keys[chosen], self.values[chosen], self.slots[chosen], self.meta)


def optimizer_kind(name: str) -> int:
    """Return the number by which the engine knows an optimizer, or several joined by `+`, with sets from 0 on.

    Raises:
        ValueError: it is unknown; the message lists the known ones.
    """
    for kind, rule in UPDATE_RULES.items():
        if rule.name == name:
            return kind
    if "+" in name:
        return joined_kind([optimizer_kind(one) for one in name.split("+")])
    raise ValueError(
        f"`optimizer` must be one of {', '.join(rule.name for rule in UPDATE_RULES.values())}: got {name!r}"
    )


def optimizer_slots(name: str) -> tuple[str, ...]:
    """Return the names of an optimizer's slots, in the order of a row."""
    return UPDATE_RULES[optimizer_kind(name)].slots


def slot_names(rows: TableRows) -> tuple[str, ...]:
    """Return a name for each slot of `rows`, in their order."""
    _, known = rule_of(int(rows.meta[4])) or ("", ())
    return known if len(known) == rows.slot_count else tuple(f"{number}" for number in range(rows.slot_count))


def table_names(bundle: Bundle) -> list[str]:
    """Return the names of the tables whose rows `bundle` holds."""
    return sorted({name.removesuffix("/rows") for joint in _JOINTS for name in _joined(bundle, joint)})


def part_names(bundle: Bundle, table: str) -> dict[str, str]:
    """Return the tensor names of the PARTS of `table`.

    Raises:
        CheckpointError: there is no such table; the message lists the existing ones.
    """
    for name, joint in itertools.product(_paths(bundle, table), _JOINTS):
        if all(f"{name}{joint}{part}" in bundle for part in PARTS):
            return {part: f"{name}{joint}{part}" for part in PARTS}
    if delta_names(bundle):
        raise CheckpointError(
            f"{bundle.path} is an increment, but the .increments.json with what it builds on is missing: give a full "
            "checkpoint"
        )
    known = ", ".join(table_names(bundle)) or "none (was it saved with `is_save=False`?)"
    raise CheckpointError(f"{bundle.path} holds no rows of a table `{table}`: its tables are {known}")


def read_rows(bundle: Bundle, table: str) -> TableRows:
    """Read the rows of `table` from a full checkpoint.

    Raises:
        CheckpointError: there is no such table, or a file is damaged.
    """
    return TableRows(*(bundle.read(name) for name in part_names(bundle, table).values()))


def delta_part_names(bundle: Bundle, table: str) -> dict[str, str]:
    """Return the tensor names of the DELTA_PARTS of `table`; empty unless `bundle` is an increment of it."""
    for name, joint in itertools.product(_paths(bundle, table), _DELTA_JOINTS):
        if all(f"{name}{joint}{part}" in bundle for part in DELTA_PARTS):
            return {part: f"{name}{joint}{part}" for part in DELTA_PARTS}
    return {}


def delta_names(bundle: Bundle) -> list[str]:
    """Return the names of the tables with changes in `bundle`; empty unless it is an increment."""
    ends = [joint + DELTA_PARTS[0] for joint in _DELTA_JOINTS]
    return sorted(name.removesuffix(end) for end in ends for name in bundle.shapes if name.endswith(end))


def _paths(bundle: Bundle, table: str) -> list[str]:
    """Return where a table may be: under its name, or where an object-based checkpoint has its anchor."""
    anchor = full_names(bundle).get(table, "").removesuffix("/.ATTRIBUTES/VARIABLE_VALUE")
    return [table, *([anchor, anchor.rpartition("/")[0]] if anchor else [])]


def _joined(bundle: Bundle, joint: str) -> list[str]:
    ends = [joint + part for part in PARTS]
    names = (name.removesuffix(ends[0]) for name in bundle.shapes if name.endswith(ends[0]))
    return [name for name in names if all(name + end in bundle for end in ends)]
