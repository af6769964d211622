"""Joins the parts of partitioned variables, for the comparison with a table that has all their rows. Pure numpy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.verify.recording import Moment, Recording

Array = NDArray[Any]


@dataclasses.dataclass(frozen=True)
class Parted:
    """A partitioned variable: the part `names[i]` has the rows of the ids `ids[i]`."""

    names: tuple[str, ...]
    ids: tuple[Array, ...]

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(map(len, self.ids))

    def whole(self, values: Sequence[Array]) -> Array:
        """Join values of the parts, each [rows of the part, …], in the order of ids."""
        result = np.empty((self.rows, *np.shape(values[0])[1:]), np.asarray(values[0]).dtype)
        for ids, value in zip(self.ids, values, strict=True):
            result[ids] = value
        return result


def by_blocks(names: Sequence[str], rows: Sequence[int]) -> Parted:
    """Return a variable whose parts have consecutive ids: partition strategy `div`, or reads of the whole variable."""
    ends = np.cumsum(rows)
    return Parted(tuple(names), tuple(np.arange(end - count, end) for end, count in zip(ends, rows, strict=True)))


def by_turns(names: Sequence[str], rows: Sequence[int]) -> Parted:
    """Return a variable whose ids alternate between parts: partition strategy `mod`."""
    return Parted(tuple(names), tuple(np.arange(count) * len(rows) + i for i, count in enumerate(rows)))


def joined_shapes(shapes: Mapping[str, tuple[int, ...]], parted: Mapping[str, Parted]) -> dict[str, tuple[int, ...]]:
    """Return the shapes of trained variables, with joined variables instead of their parts."""
    whole = {one.names[0]: (name, one.rows) for name, one in parted.items()}
    parts = {name for one in parted.values() for name in one.names}
    result = {}
    for name, shape in shapes.items():
        if name in whole:
            result[whole[name][0]] = (whole[name][1], *shape[1:])
        elif name not in parts:
            result[name] = shape
    return result


def joined_values(values: Mapping[str, Array], parted: Mapping[str, Parted]) -> dict[str, Array]:
    """Return values by variable, with parts and the slots of parts joined."""
    result = dict(values)
    for name, variable in parted.items():
        first = variable.names[0]  # missing where they are joined already
        for key in [key for key in values if key == first or key.startswith(first + "/")]:
            rest = key[len(first) :]
            of_parts = [values[part + rest] for part in variable.names if part + rest in values]
            if len(of_parts) == len(variable.names) and all(
                np.shape(v)[:1] == (len(ids),) for v, ids in zip(of_parts, variable.ids, strict=True)
            ):
                result[name + rest] = variable.whole([result.pop(part + rest) for part in variable.names])
    return result


def joined(recording: Recording, parted: Mapping[str, Parted]) -> Recording:
    """Return the recording of an original with the parts of variables joined."""
    owners = {part: name for name, one in parted.items() for part in one.names}
    laws = recording.distributions
    alike = {name: {laws.get(part) for part in one.names} for name, one in parted.items()}
    return dataclasses.replace(
        recording,
        initial=joined_values(recording.initial, parted),
        weights=joined_values(recording.weights, parted),
        passes=[_pass(one, parted, owners) for one in recording.passes],
        steps={
            stage: [dataclasses.replace(one, values=joined_values(one.values, parted)) for one in steps]
            for stage, steps in recording.steps.items()
        },
        distributions={**laws, **{name: found.pop() if len(found) == 1 else None for name, found in alike.items()}},
        optimizers={owners.get(name, name): kind for name, kind in recording.optimizers.items()},
    )


def _pass(moment: Moment, parted: Mapping[str, Parted], owners: Mapping[str, str]) -> Moment:
    """Join the gradients of a pass. Lookups are removed, because their rows are spread over parts."""
    gradients = {key: value for key, value in moment.gradients.items() if key.partition(" #")[0] not in owners}
    for name, whole in parted.items():
        for key in [key for key in moment.gradients if key.partition(" #")[0] == whole.names[0]]:
            again = key[len(whole.names[0]) :]
            gradients[name + again] = _gradient([moment.gradients.get(part + again) for part in whole.names], whole)
    lookups = {**moment.outputs.get("forward", {}), **{name: [] for name in parted}}
    return dataclasses.replace(moment, gradients=gradients, outputs={"forward": lookups})


def _gradient(parts: Sequence[Any], whole: Parted) -> tuple[Array, Array]:
    """Return (ids, rows) of a gradient whose parts are dense, sparse or missing."""
    terms = []
    for part, ids in zip(parts, whole.ids, strict=True):
        if isinstance(part, tuple | list):
            terms.append((ids[np.asarray(part[0])], np.asarray(part[1])))
        elif part is not None:
            terms.append((ids, np.asarray(part)))
    return np.concatenate([ids for ids, _ in terms]), np.concatenate([rows for _, rows in terms])
