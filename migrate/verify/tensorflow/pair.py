"""Runs two TensorFlow programs in worker processes and compares their results."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from migrate.report.model import Comparison, Verification
from migrate.verify import compare, distributions, progress, workers
from migrate.verify.drift import Drift
from migrate.verify.keras import pair as keras
from migrate.verify.settings import Settings
from migrate.verify.tensorflow import partitioned_variables
from migrate.verify.tensorflow.measure import Program
from migrate.verify.tensorflow.training import Training

Array = NDArray[Any]
Result = Mapping[str, Any]
_ORIGINAL, _CONVERTED = "migrate.verify.tensorflow.original", "migrate.verify.tensorflow.converted"


def verify(original: str, converted: str, settings: Settings) -> Verification:
    """Run both programs and compare them stage by stage; raises `MigrateError` as `measure`."""
    pair = measure(original, converted, settings)
    return Verification(original, converted, tuple(pair.comparisons()), pair.notes(), tuple(pair.training.memory()))


def measure(original: str, converted: str, settings: Settings) -> Pair:
    """Run the original, record its batches, and replay them on both programs.

    Raises:
        MigrateError: one of the programs cannot be run, or the two do not match.
    """
    file = Path(original).resolve()
    job = {"directory": str(file if file.is_dir() else file.parent), "settings": settings, "path": original}
    progress.expect(2)
    first = workers.run(_ORIGINAL, job)
    progress.expect((4 if first["traced"] else 2) if "eager" in first else 1)
    return follow(keras.original(job, first["traced"]) if "eager" in first else {**first, **job}, converted)


def follow(first: Result, converted: str) -> Pair:
    """Run a converted program with the recorded batches of the original; raises `MigrateError` as `measure`."""
    if "eager" in first:
        eager, *traced = (Pair(*run) for run in keras.converted(first, converted))
        eager.traced = next(iter(traced), None)
        return eager
    known = {key: first[key] for key in ("directory", "settings", "program", "state", "batches")}
    return Pair(first, workers.run(_CONVERTED, {**known, "path": converted}))


class Pair:
    """The results of both programs, and their comparisons."""

    def __init__(self, first: Result, second: Result) -> None:
        """Take the results of the workers."""
        joined = functools.partial(partitioned_variables.joined, parted=second.get("parts", {}))
        self._drift = Drift(first, keras.SIDE if "eager" in first else _ORIGINAL, joined)
        self.recorded = first  #: as the worker gave it, for `follow`: parts of variables are apart
        self.first, self.second = joined(first), second
        self.traced: Pair | None = None  #: the same programs as their users run them
        self.programs: tuple[Program, Program] = (self.first["program"], second["program"])
        self.tables = self.programs[1].tables
        #: table -> the original's variable
        self.matched = {table.name: name for name, table in self.tables.items()}
        self._refer_to(self.first["double"])

    def _refer_to(self, double: Result | str) -> None:
        """Take the original in float64 as the reference, or the sentence why there is none."""
        self._no_double = double if isinstance(double, str) else ""
        self.double: Result = self.first if isinstance(double, str) else double
        self.training = Training(self.first, self.double, self.second, self._drift)

    def comparisons(self) -> Iterator[Comparison]:
        """Yield all comparisons, stage by stage."""
        compared = tuple(self._stages())
        if "eager" in self.first and any(one.verdict in ("differs", "undetermined") for one in compared):
            self._refer_to(keras.in_float64(self.first))
            compared = tuple(self._stages())
        yield from compared
        if self.traced and not self.traced.first["by_turns"]:
            yield from (replace(one, stage="traced") for one in self.traced.comparisons())

    def _stages(self) -> Iterator[Comparison]:
        if self.first["passes"]:  # a run with functions traced has steps only
            yield from self.initial()
            yield from self.forward()
            yield from self.gradients()
        yield from self.training.comparisons()

    def notes(self) -> tuple[str, ...]:
        """Return notes on how the results were obtained."""
        notes = [
            f"table `{table}` replaces the variable `{name}`" for table, name in self.matched.items() if table != name
        ]
        if anew := [f"`{mine}` is `{theirs}`" for mine, theirs in self.second.get("renumbered", {}).items()]:
            more = f" and {len(anew) - 5} more" if len(anew) > 5 else ""
            notes.append(
                "TensorFlow numbered variables of the converted program anew, and they are matched by the order of "
                f"their creation: {', '.join(anew[:5])} of the original{more}; restore no checkpoint of the original "
                "by these names"
            )
        without = dict.fromkeys(pair._no_double for pair in (self, self.traced) if pair and pair._no_double)
        notes += without
        if self.traced and self.traced.first["by_turns"]:
            notes.append(
                "both programs train with their functions traced, but these steps are not compared, because some "
                "variables begin to train later than others: give a program with one training step"
            )
        if self.first.get("others"):
            notes.append(
                "the program runs several training steps by turns: the first of them is compared, what "
                f"{self.first['others']} other optimizer(s) compute is not; give a program that runs those first, too"
            )
        notes += (
            [
                "the original has random values that cannot be fed, so two runs of it differ: leave them out for the "
                "proof, as by a dropout rate of 0"
            ]
            if self.first["random"]
            else []
        )
        notes += [
            f"table `{table.name}` is read in another form than the variable, such as a product with the whole matrix: "
            "its lookups are compared only by the loss and the gradients"
            for name, table in self.tables.items()
            if not self._is_alike(name)
        ]
        if self.first.get("seeded") and (drawn := self._drawn_by_id()):
            notes.append(
                f"the first rows of {', '.join(drawn)} are drawn by id, so own runs of both programs differ at one "
                "seed of their graph, also in what it draws behind them: here both began with equal values"
            )
        notes += self.training.notes()
        return tuple(notes)

    def _drawn_by_id(self) -> list[str]:
        """Return the tables whose first rows are random, and drawn from the seed and the id."""
        return [
            f"`{table.name}`"
            for table in self.tables.values()
            if table.distribution and any(":constant:" not in part for part in table.distribution.split(";"))
        ]

    def initial(self) -> Iterator[Comparison]:
        """Yield comparisons of initial values: of constants exactly, of random values by their distributions."""
        for name, table in self.tables.items():
            own = self.first["distributions"][name]  # of rows that the program draws as a matrix, the one to fit
            converted = distributions.distribution_at(table.distribution, 0) if table.distribution else own
            rows = _rows(self.first["initial"][name]), self.second["rows"][name]
            yield distributions.compare_initial(f"{table.name} [table]", *rows, own, converted)
        for name, values in self.second["initial"].items():
            laws = self.first["distributions"][name], self.second["distributions"][name]
            yield distributions.compare_initial(name, self.first["initial"][name], values, *laws)

    def forward(self) -> Iterator[Comparison]:
        """Yield comparisons of all looked-up tensors and of the losses, over all batches."""
        for name, table in self.tables.items():
            for i in range(len(table.lookups) if self._is_alike(name) else 0):
                like = [np.shape(batch["lookups"][name][i]) for batch in self.second["passes"]]
                values = [
                    compare.concatenated(
                        [
                            _by_row(np.asarray(batch["lookups"][name][i]).reshape(shape))
                            for batch, shape in zip(side["passes"], like, strict=True)
                        ]
                    )
                    for side in self._sides
                ]
                yield compare.compare("forward", f"{table.name} lookup {i}", *values, kind="output")
        for i, name in enumerate(self.programs[0].losses):
            values = [compare.stacked([batch["losses"][i] for batch in side["passes"]]) for side in self._sides]
            yield compare.compare("loss", f"loss {name}", *values, kind="output" if len(values[0]) > 1 else "tensor")

    def _is_alike(self, name: str) -> bool:
        """True if both programs look as often up in a table and its variable, and as many rows."""
        return all(
            [np.size(rows) for rows in a["lookups"][name]] == [np.size(rows) for rows in b["lookups"][name]]
            for a, b in zip(self.first["passes"], self.second["passes"], strict=True)
        )

    @property
    def _sides(self) -> tuple[Result, Result, Result]:
        """The original, the converted program, and the original in float64, as `compare` takes them."""
        return self.first, self.second, self.double

    def gradients(self) -> Iterator[Comparison]:
        """Yield comparisons of all gradients; those of tables per key, with the rows of equal keys summed."""
        for key in self.programs[0].gradients:
            name, _, again = key.partition(" #")
            table = self.tables.get(name)
            label = f"{table.name + (f' #{again}' if again else '')} [table]" if table else key
            if name in self.programs[1].in_graph:
                continue  # its steps are compared
            if key not in self.programs[1].gradients:
                yield compare.missing("gradient", label, "the converted program has no gradient for it")
                continue
            yield self._gradient(label, key, table is not None)

    def _gradient(self, label: str, key: str, by_key: bool) -> Comparison:
        results = []
        for batches in zip(*(side["passes"] for side in self._sides), strict=True):
            slopes = [batch["gradients"][key] for batch in batches]
            results.append(_per_key(slopes) if by_key else [_dense(one) for one in slopes])
        values = [np.concatenate([one.reshape(-1) for one in sides]) for sides in zip(*results, strict=True)]
        return compare.compare("gradient", label, *values, kind="gradient")


def _by_row(values: Array) -> Array:
    """Return looked-up rows [n, dim]: those of positions are the same for every item of a batch, but differ."""
    return values.reshape(-1, values.shape[-1]) if values.ndim > 2 else values


def _rows(values: Array) -> Array:
    return values.reshape(len(values), -1)


def _dense(gradient: Any) -> Array:
    if isinstance(gradient, tuple | list):
        keys, rows = compare.aggregate(np.asarray(gradient[0]), _rows(np.asarray(gradient[1])))
        return np.concatenate([keys[:, None].astype(np.float64), rows], axis=1)
    return np.asarray(gradient)


def _per_key(found: Sequence[Any]) -> list[Array]:
    """Return the summed gradients of all programs for the keys that any of them has."""
    sparse = []
    for gradient in found:
        if isinstance(gradient, tuple | list):
            sparse.append(compare.aggregate(np.asarray(gradient[0]), _rows(np.asarray(gradient[1]))))
        else:
            rows = _rows(np.asarray(gradient, np.float64))
            touched = np.flatnonzero(rows.any(axis=1))
            sparse.append((touched, rows[touched]))
    keys = np.unique(np.concatenate([keys for keys, _ in sparse]))
    return [_at(keys, *side) for side in sparse]


def _at(keys: Array, own: Array, rows: Array) -> Array:
    result = np.zeros((len(keys), rows.shape[1]), np.float64)
    result[np.searchsorted(keys, own)] = rows
    return result
