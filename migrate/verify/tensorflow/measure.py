"""Replays recorded batches on a training graph and returns the results, using only tensor names.

The same code measures the original, its float64 copy and the converted program.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.verify import training_record

Array = NDArray[Any]
Run = Callable[..., Any]

#: Variables with more elements are read only after the last step.
LARGE = 1 << 20


@dataclass(frozen=True)
class VariableNames:
    """How to set and read a variable: feed `assigned` and run `initializer`; fetch `value`."""

    initializer: str
    assigned: str
    value: str


@dataclass(frozen=True)
class TableNames:
    """How to reset, fill and read a table."""

    name: str
    dim: int
    distribution: str  #: empty if a matrix gives the first rows
    reset: str = ""
    keys: str = ""
    rows: str = ""
    fill: str = ""
    peek: str = ""  #: rows of the fed keys, inserting nothing
    snapshot: tuple[str, ...] = ()
    lookups: tuple[str, ...] = ()
    buckets: Any = None  #: the `base_buckets` of the table: ids gave up as many buckets, whose rows are filled


@dataclass(frozen=True)
class Program:
    """The tensor names of everything that is measured in a training graph."""

    variables: Mapping[str, VariableNames]
    trained: Mapping[str, tuple[int, ...]]  #: variable that is trained, or looked up without being trained -> shape
    losses: Sequence[str]
    train: Sequence[str]
    gradients: Mapping[str, Any]  #: variable -> tensor name, or (indices, values) names
    lookups: Mapping[str, Sequence[str]]  #: such a variable -> tensors looked up in it
    optimizers: Mapping[str, str] = field(default_factory=dict)  #: variable -> class name
    tables: Mapping[str, TableNames] = field(default_factory=dict)  #: the original's variable -> what replaces it
    parts: Mapping[str, Any] = field(default_factory=dict)  #: partitioned variable -> `parted.Parted`
    in_graph: frozenset[str] = frozenset()  #: those that `rewriter.install` made: no tensor has their whole gradient


@dataclass(frozen=True)
class State:
    """The initial values of a measurement: variables by name, and the rows of tables."""

    variables: Mapping[str, Array]
    rows: Mapping[str, Array] = field(default_factory=dict)


def restart(run: Run, program: Program, state: State) -> None:
    """Set all variables and refill all tables."""
    if program.tables:
        run([table.reset for table in program.tables.values()])
    names = [name for name in program.variables if name in state.variables]
    run(
        [program.variables[name].initializer for name in names],
        {program.variables[name].assigned: state.variables[name] for name in names},
    )
    for name, table in program.tables.items():
        rows = state.rows[name]
        run(table.fill, {table.keys: np.arange(len(rows), dtype=np.int64), table.rows: rows})


def passes(run: Run, program: Program, state: State, batches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return losses, looked-up rows and gradients of each batch, always from the same state."""
    results = []
    lookups = {**program.lookups, **{name: table.lookups for name, table in program.tables.items()}}
    for batch in batches:
        restart(run, program, state)
        losses, rows, gradients = run(
            (list(program.losses), {k: list(v) for k, v in lookups.items()}, dict(program.gradients)), batch
        )
        results.append({"losses": losses, "lookups": rows, "gradients": _of_rows(gradients, program, state)})
    return results


def _of_rows(gradients: Mapping[str, Any], program: Program, state: State) -> dict[str, Any]:
    """Return gradients with the terms over all rows of a table in the gradient of each row."""
    if not program.tables:
        return dict(gradients)
    from runtime.lookup.whole_table import spelled_out

    found = dict(gradients)
    for name, rows in state.rows.items():
        for key in [key for key in found if key.partition(" #")[0] == name and isinstance(found[key], tuple)]:
            keys, values = found[key]
            if program.tables[name].buckets is not None:
                keys = program.tables[name].buckets.row_of(keys)
            found[key] = spelled_out(keys, values, np.arange(len(rows), dtype=np.int64), rows)
    return found


def steps(run: Run, program: Program, state: State, batches: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Run one training step per batch; return the losses before, and variables and tables after each step."""
    restart(run, program, state)
    results = []
    for number, batch in enumerate(batches, start=1):
        losses = run(list(program.losses), batch)
        run(list(program.train), batch)
        last = number == len(batches)
        wanted = {
            n: v.value for n, v in program.variables.items() if last or np.size(state.variables.get(n, 0)) <= LARGE
        }
        tables = {n: t.snapshot for n, t in program.tables.items() if last or np.size(state.rows[n]) <= LARGE}
        variables, snapshots = run((wanted, tables))
        results.append({"losses": losses, "variables": variables, "tables": snapshots})
    return results


def random_again(run: Run, program: Program, state: State, batch: Mapping[str, Any]) -> bool:
    """Return True if two runs from the same state have different losses, because of random values that are not fed."""
    seen = []
    for _ in range(2):
        restart(run, program, state)
        seen.append(run(list(program.losses), batch))
    return not all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def update_rules(step: Mapping[str, Any]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return how each table is trained after a recorded step, in words, and the stock optimizers that compute the same.

    It is asked in the process of the converted program: the one that compares has no TensorFlow.
    """
    from runtime.native.update_rules import UPDATE_RULES

    kinds = {name: int(snapshot[3][4]) for name, snapshot in step["tables"].items()}
    rules = {name: UPDATE_RULES.get(kind) for name, kind in kinds.items()}
    return {
        name: (rule.title or rule.name, rule.stock) if rule else (str(kinds[name]), ()) for name, rule in rules.items()
    }


def held(program: Program, step: Mapping[str, Any]) -> dict[str, training_record.Held]:
    """Return what the tables of this process hold after a recorded step, by their names."""
    widths = {name: (snapshot[1].shape[1], snapshot[2].shape[1]) for name, snapshot in step["tables"].items()}
    return training_record.held({program.tables[name].name: width for name, width in widths.items()})
