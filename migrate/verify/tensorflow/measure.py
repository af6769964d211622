"""Replays recorded batches on a training graph and returns the results, using only tensor names.

The same code measures the original, its float64 copy and the converted program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.verify.distributions import distribution_at
from migrate.verify.recording import Moment, Recording, held_in
from migrate.verify.without_buckets import Shared, by_bucket

Array = NDArray[Any]
Run = Callable[..., Any]

#: Optimizer kind -> order of its slots in the stock optimizer, where the two differ.
_SLOTS = {8: (0, 2, 1)}
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
    parts: Mapping[str, Any] = field(default_factory=dict)  #: partitioned variable -> `Parted`
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
    _put(run, program, state)


def _put(run: Run, program: Program, state: State) -> None:
    """Set the variables and rows of a state; those that begin as one tensor, which is fed, one after the other."""
    left = [(program.variables[n], value) for n, value in state.variables.items() if n in program.variables]
    while left:
        now = {pair[0].assigned: pair for pair in left}
        run([one.initializer for one, _ in now.values()], {name: value for name, (_, value) in now.items()})
        left = [pair for pair in left if now[pair[0].assigned] is not pair]
    for name, rows in state.rows.items():
        table = program.tables[name]
        run(table.fill, {table.keys: np.arange(len(rows), dtype=np.int64), table.rows: rows})


def passes(run: Run, program: Program, state: State, batches: Sequence[Mapping[str, Any]]) -> list[Moment]:
    """Return losses, looked-up rows and gradients of each batch, always from the same state.

    Of a converted program, the rows are those of its tables.
    """
    results = []
    known = {name: table.lookups for name, table in program.tables.items()} or program.lookups
    lookups = {name: list(tensors) for name, tensors in known.items()}
    for batch in batches:
        restart(run, program, state)
        losses, rows, gradients = run((list(program.losses), lookups, dict(program.gradients)), batch)
        results.append(Moment(losses, {"forward": rows}, _of_rows(gradients, program, state)))
    return results


def _of_rows(gradients: Mapping[str, Any], program: Program, state: State) -> dict[str, Any]:
    """Return gradients with the terms over all rows of a table in the gradient of each row."""
    if not program.tables:
        return dict(gradients)
    from runtime.lookup.whole_table import spelled_out

    expanded = dict(gradients)
    for name, rows in state.rows.items():
        for key in [key for key in expanded if key.partition(" #")[0] == name and isinstance(expanded[key], tuple)]:
            keys, values = expanded[key]
            if program.tables[name].buckets is not None:
                keys = program.tables[name].buckets.row_of(keys)
            expanded[key] = spelled_out(keys, values, np.arange(len(rows), dtype=np.int64), rows)
    return expanded


def steps(
    run: Run, program: Program, state: State, batches: Sequence[Mapping[str, Any]], lead: Sequence[Moment] = ()
) -> tuple[list[Moment], Mapping[str, Any]]:
    """Run one training step per batch; return the steps, and what tables hold after the last one.

    With `lead`, the original's steps, each begins with the weights of these, so that rounding does not add up. Slots,
    and variables that are not trained, go on from their own values: a fault may show in their sum alone.
    """
    restart(run, program, state)
    trained = {name: value for name, value in state.variables.items() if name in program.trained}
    results, snapshots = [], {}
    for number, batch in enumerate(batches, start=1):
        if lead and number > 1:
            _put(run, program, taken(lead[number - 2].values, trained, state.rows))
        losses = run(list(program.losses), batch)
        run(list(program.train), batch)
        last = number == len(batches)
        wanted = {
            n: v.value for n, v in program.variables.items() if last or np.size(state.variables.get(n, 0)) <= LARGE
        }
        tables = {n: t.snapshot for n, t in program.tables.items() if last or np.size(state.rows[n]) <= LARGE}
        variables, snapshots = run((wanted, tables))
        counts = {name: len(rows) for name, rows in state.rows.items()}
        results.append(after_step(losses, variables, program.tables, snapshots, counts))
    return results, snapshots


def taken(values: Mapping[str, Any], own: Mapping[str, Any], tables: Iterable[str]) -> State:
    """Return those of the original's values that variables, which have `own` values, and tables can take."""
    known = {n: values[n] for n, one in own.items() if n in values and np.shape(values[n]) == np.shape(one)}
    return State(known, {n: values[n].reshape(len(values[n]), -1) for n in tables if n in values})


def after_step(
    losses: Sequence[Any],
    variables: Mapping[str, Array],
    tables: Mapping[str, TableNames],
    snapshots: Mapping[str, Any],
    counts: Mapping[str, int],
) -> Moment:
    """Return a step, with the losses before it, and rows and slots of tables in the order of ids.

    Tables, their snapshots (keys, rows, slots, metadata) and the number of rows in the original go by its names.
    """
    values: dict[str, Any] = dict(variables)
    notes, shared = {}, {}
    for name, (keys, rows, slots, meta, *_) in snapshots.items():
        if tables[name].buckets is not None:
            values[name], shared[name] = _by_bucket(tables[name].buckets, keys, rows, counts[name])
            continue
        extra = keys[(keys < 0) | (keys >= counts[name])]
        if len(extra):
            notes[name] = f"{len(extra)} keys that the variable does not have, the smallest is {extra.min()}"
        values[name] = _ordered(keys, rows, counts[name])
        if slots.shape[1]:
            parts = slots.reshape(len(slots), -1, rows.shape[1])
            parts = parts[:, _SLOTS.get(int(meta[4]), range(parts.shape[1]))]
            values[slots_of(name)] = _ordered(keys, parts.reshape(len(slots), -1), counts[name])
    return Moment(losses, values=values, notes=notes, shared=shared)


def slots_of(name: str) -> str:
    """Return the name under which the slots of a table are recorded, side by side."""
    return f"{name} [slots]"


def _ordered(keys: Array, values: Array, rows: int) -> Array:
    """Return the values of rows 0, 1, 2, … of a table; NaN where it has none."""
    result = np.full((rows, values.shape[1]), np.nan, values.dtype)
    inside = (keys >= 0) & (keys < rows)
    result[keys[inside]] = values[inside]
    return result


def _by_bucket(buckets: Any, keys: Array, rows: Array, count: int) -> tuple[Array, Shared]:
    """Return the rows of a table by their buckets, as `by_bucket`."""
    from runtime.native.base_keys import FIRST_BASE_KEY, are_base_keys

    of_base = are_base_keys(keys)
    base = _ordered(keys[of_base] - FIRST_BASE_KEY, rows[of_base], count)
    return by_bucket(buckets, base, keys[~of_base], rows[~of_base])


def random_again(run: Run, program: Program, state: State, batch: Mapping[str, Any]) -> bool:
    """Return True if two runs from the same state have different losses, because of random values that are not fed."""
    seen = []
    for _ in range(2):
        restart(run, program, state)
        seen.append(run(list(program.losses), batch))
    return not all(np.array_equal(a, b) for a, b in zip(*seen, strict=True))


def update_rules(snapshots: Mapping[str, Any]) -> dict[str, tuple[str, tuple[str, ...]]]:
    """Return how each table is trained, in words, and the stock optimizers that compute the same.

    It is asked in the process of the converted program: the one that compares has no TensorFlow.
    """
    from runtime.native.update_rules import UPDATE_RULES

    kinds = {name: int(snapshot[3][4]) for name, snapshot in snapshots.items()}
    rules = {name: UPDATE_RULES.get(kind) for name, kind in kinds.items()}
    return {
        name: (rule.title or rule.name, rule.stock) if rule else (str(kinds[name]), ()) for name, rule in rules.items()
    }


def of_converted(
    recording: Recording, tables: Mapping[str, TableNames], snapshots: Mapping[str, Any], in_graph: Iterable[str] = ()
) -> Recording:
    """Return a recording with what is known of the tables of this process, by the original's names."""
    freed = [name for name, table in tables.items() if table.buckets is not None]
    held = held_in({tables[name].name: (one[1].shape[1], one[2].shape[1]) for name, one in snapshots.items()})
    drawn = {name: distribution_at(table.distribution, 0) for name, table in tables.items() if table.distribution}
    return replace(
        recording,
        steps={stage: one[:1] if freed else one for stage, one in recording.steps.items()},
        freed=freed,
        follows=True,
        distributions={**recording.distributions, **drawn},
        optimizers=update_rules(snapshots),
        tables=tables,
        in_graph=frozenset(in_graph),
        held={name: held[table.name] for name, table in tables.items() if table.name in held},
    )
