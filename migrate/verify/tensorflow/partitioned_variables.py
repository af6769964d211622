"""Joins the parts of partitioned variables, for the comparison with a table that has all their rows. Pure numpy."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.verify.tensorflow.measure import Program

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
    for name, one in parted.items():
        first = one.names[0]  # missing where they are joined already
        for key in [key for key in values if key == first or key.startswith(first + "/")]:
            rest = key[len(first) :]
            of_parts = [values[part + rest] for part in one.names if part + rest in values]
            if len(of_parts) == len(one.names) and all(
                np.shape(v)[:1] == (len(ids),) for v, ids in zip(of_parts, one.ids, strict=True)
            ):
                result[name + rest] = one.whole([result.pop(part + rest) for part in one.names])
    return result


def joined(result: Mapping[str, Any], parted: Mapping[str, Parted]) -> dict[str, Any]:
    """Return the result of a worker, in one precision or both, with the parts of variables joined."""
    if not parted:
        return dict(result)
    changed: dict[str, Any] = {"passes": [_pass(one, parted) for one in result["passes"]]}
    changed["steps"] = [{**one, "variables": joined_values(one["variables"], parted)} for one in result["steps"]]
    for key in {"initial", "state"} & set(result):
        changed[key] = joined_values(result[key], parted)
    if "distributions" in result:
        distributions = result["distributions"]
        alike = {
            n: distributions[p.names[0]] for n, p in parted.items() if len({distributions[one] for one in p.names}) == 1
        }
        changed["distributions"] = {**distributions, **dict.fromkeys(parted), **alike}
    if "program" in result:
        changed["program"] = _program(result["program"], parted)
    if isinstance(result.get("double"), Mapping):
        changed["double"] = joined(result["double"], parted)
    return {**result, **changed}


def _program(program: Program, parted: Mapping[str, Parted]) -> Program:
    owners = {part: name for name, one in parted.items() for part in one.names}
    optimizers = {owners.get(name, name): kind for name, kind in program.optimizers.items()}
    return dataclasses.replace(
        program,
        trained=joined_shapes(program.trained, parted),
        gradients={_of_whole(key, owners): None for key in program.gradients},
        optimizers=optimizers,
    )


def _of_whole(key: str, owners: Mapping[str, str]) -> str:
    name, again, number = key.partition(" #")
    return owners.get(name, name) + again + number


def _pass(one: Mapping[str, Any], parted: Mapping[str, Parted]) -> dict[str, Any]:
    """Join the gradients of a pass. Lookups are removed, because their rows are spread over parts."""
    gradients = dict(one["gradients"])
    for name, whole in parted.items():
        for key in [key for key in gradients if key.partition(" #")[0] == whole.names[0]]:
            again = key[len(whole.names[0]) :]
            gradients[name + again] = _gradient([gradients.pop(part + again, None) for part in whole.names], whole)
    lookups = {**one["lookups"], **{name: [] for name in parted}}
    return {**one, "gradients": gradients, "lookups": lookups}


def _gradient(parts: Sequence[Any], whole: Parted) -> tuple[Array, Array]:
    """Return (ids, rows) of a gradient whose parts are dense, sparse or missing."""
    found = []
    for part, ids in zip(parts, whole.ids, strict=True):
        if isinstance(part, tuple | list):
            found.append((ids[np.asarray(part[0])], np.asarray(part[1])))
        elif part is not None:
            found.append((ids, np.asarray(part)))
    return np.concatenate([ids for ids, _ in found]), np.concatenate([rows for _, rows in found])
