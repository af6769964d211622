"""Builds the feature map, TFRecords and schema from the original files, in two passes over the rows."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from migrate.dataset.census.columns import (
    COLUMNS,
    DENSE,
    INCOME_HIGH,
    LABELS,
    NEVER_MARRIED,
    SPARSE,
    TEST_NAME,
    TEST_TRUTH,
    TRAIN_NAME,
    TRAIN_TRUTH,
)
from migrate.dataset.census.reading import Row, read_rows
from migrate.dataset.census.synthetic import write_synthetic
from migrate.dataset.files import StagedFolder, staged
from migrate.dataset.tfrecord import Sample, write_samples
from migrate.errors import MigrateError

#: Shows progress: (rows, their file, description) -> the same rows.
Progress = Callable[[Iterable[Row], Path, str], Iterable[Row]]
#: The category of unseen values with `--unseen reserve`.
_RESERVED = "<unseen>"
_DENSE_AT = [COLUMNS.index(name) for name in DENSE]
_SPARSE_AT = [COLUMNS.index(name) for name in SPARSE]


@dataclass(frozen=True)
class CensusOptions:
    """The options of `migrate dataset census`."""

    train: Path | None
    test: Path | None
    synthetic: int | None = None  #: number of rows to generate instead of reading files
    map_from: str = "both"  #: `train` or `both`: the files whose categories get ids
    reserve_unseen: bool = False
    normalize: bool = False  #: scale dense columns to mean 0, deviation 1 (in the training file)
    seed: int = 0


@dataclass(frozen=True)
class CensusResult:
    """The number of rows and ids that were written."""

    folder: Path
    train_rows: int
    test_rows: int
    sizes: list[int]  #: number of ids per sparse column


def build_census(options: CensusOptions, folder: Path, progress: Progress) -> CensusResult:
    """Write train.tfrecord, test.tfrecord, feature_map.json and schema.yaml into `folder`, atomically.

    Raises:
        MigrateError: a file is missing, damaged or of another shape; an unknown category; the folder is not writable.
    """
    with staged(folder) as stage:
        if options.synthetic is not None:
            _spare_originals(folder)
            train, test = write_synthetic(stage, options.synthetic, options.seed)
        else:
            assert options.train is not None
            assert options.test is not None
            train, test = options.train, options.test
        feature_map = _collect(options, train, test, progress)
        train_rows = _encode(options, stage, "train.tfrecord", train, feature_map, progress)
        test_rows = _encode(options, stage, "test.tfrecord", test, feature_map, progress)
        with stage.open("feature_map.json") as out:
            json.dump(feature_map.to_json(), out, indent=1, ensure_ascii=False)
        with stage.open("schema.yaml") as out:
            out.write(_schema_text(feature_map.sizes))
    return CensusResult(folder, train_rows, test_rows, feature_map.sizes)


def _spare_originals(folder: Path) -> None:
    """Raise MigrateError if synthetic rows would replace original files, which have no file with probabilities."""
    for name, truth in ((TRAIN_NAME, TRAIN_TRUTH), (TEST_NAME, TEST_TRUTH)):
        if (folder / name).exists() and not (folder / truth).exists():
            raise MigrateError(
                f"{folder / name} is not synthetic ({truth} is missing) and would be overwritten; choose another -o"
            )


def _collect(options: CensusOptions, train: Path, test: Path, progress: Progress) -> _FeatureMap:
    builder = _MapBuilder()
    rows = progress(read_rows(train), train, f"reading {train.name}")
    builder.add(train, rows, categories=True, statistics=True)
    if options.map_from == "both":
        rows = progress(read_rows(test), test, f"reading {test.name}")
        builder.add(test, rows, categories=True, statistics=False)
    return builder.build(reserve=options.reserve_unseen, normalize=options.normalize)


def _encode(
    options: CensusOptions,
    stage: StagedFolder,
    name: str,
    source: Path,
    feature_map: _FeatureMap,
    progress: Progress,
) -> int:
    rows = progress(read_rows(source), source, f"writing {name}")
    return write_samples(stage.path(name), _samples(options, source, rows, feature_map))


def _samples(options: CensusOptions, source: Path, rows: Iterable[Row], feature_map: _FeatureMap) -> Iterator[Sample]:
    income, marital = COLUMNS.index("income_50k"), COLUMNS.index("marital_stat")
    scale = [(s.mean, s.std) if options.normalize else (0.0, 1.0) for s in feature_map.stats]
    for row in rows:
        dense = [(v - mean) / std for v, (mean, std) in zip(_dense_values(source, row), scale, strict=True)]
        label = [int(row.values[income] == INCOME_HIGH), int(row.values[marital] == NEVER_MARRIED)]
        yield Sample(label, _sparse_ids(source, row, feature_map), dense)


def _schema_text(sizes: list[int]) -> str:
    """Return schema.yaml for MMoE on sparse columns with `sizes` ids each (29 numbers)."""
    start = len(DENSE)
    groups = []
    for name, size in zip(SPARSE, sizes, strict=True):
        groups.append(f"    - {{name: {name}, start: {start}, size: {size}}}\n")
        start += size
    tasks = [
        f"  - {{name: {label}, output: {i}, label: {label}, loss: log_loss, positive: 1, epsilon: 1.0e-4}}\n"
        for i, label in enumerate(LABELS)
    ]
    return (
        f"# Census-Income (KDD), written by `migrate dataset census`: {len(DENSE)} numeric columns, then {len(SPARSE)}"
        f" one-hot groups, {start} columns in all.\n"
        "version: 1\n"
        "model:\n"
        "  class: MMoELayer\n"
        f"  arguments: {{feature_size: {start}, expert_num: 8, expert_size: 16, tower_size: 8, gate_num: 2}}\n"
        "input:\n"
        "  name: input_data\n"
        f"  size: {start}\n"
        f"  dense: [[0, {len(DENSE)}]]\n"
        "  sparse:\n" + "".join(groups) + f"labels: [{', '.join(LABELS)}]\n"
        "tasks:\n" + "".join(tasks)
    )


@dataclass
class _DenseStats:
    """Running mean and variance of one numeric column (Welford's method), over the training file."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0

    def add(self, value: float) -> None:
        """Add a value."""
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.squares += delta * (value - self.mean)

    @property
    def std(self) -> float:
        """The standard deviation, or 1 for a constant column, so that it can be a divisor."""
        return math.sqrt(self.squares / self.count) if self.count and self.squares > 0 else 1.0


@dataclass
class _FeatureMap:
    """Encodes a row as ids and dense values."""

    categories: list[dict[str, int]] = field(default_factory=list)  #: by sparse column, category -> id
    stats: list[_DenseStats] = field(default_factory=lambda: [_DenseStats() for _ in DENSE])
    normalized: bool = False  #: whether the numbers are stored as (value - mean) / std

    @property
    def sizes(self) -> list[int]:
        """The number of ids of each sparse column."""
        return [len(ids) for ids in self.categories]

    def to_json(self) -> dict[str, object]:
        """`{"C1": {category: id, …}, …, "I1": {"name", "mean", "std"}, …, "names": {"C1": …}, "normalized": bool}`."""
        result: dict[str, object] = {f"C{i}": ids for i, ids in enumerate(self.categories, start=1)}
        for i, (name, stats) in enumerate(zip(DENSE, self.stats, strict=True), start=1):
            result[f"I{i}"] = {"name": name, "mean": stats.mean, "std": stats.std}
        result["names"] = {f"C{i}": name for i, name in enumerate(SPARSE, start=1)}
        result["normalized"] = self.normalized
        return result


def _order(category: str) -> tuple[int, int, str]:
    """Sort key: numbers by value, then words, as the one-hot columns of the prepared files."""
    return (0, int(category), category) if category.isdecimal() else (1, 0, category)


class _MapBuilder:
    """Collects categories and statistics row by row."""

    def __init__(self) -> None:
        self._seen: list[set[str]] = [set() for _ in SPARSE]
        self._stats = [_DenseStats() for _ in DENSE]

    def add(self, path: Path, rows: Iterable[Row], *, categories: bool, statistics: bool) -> None:
        """Add the rows of a file, for their categories, their statistics, or both."""
        for row in rows:
            if categories:
                for seen, at in zip(self._seen, _SPARSE_AT, strict=True):
                    seen.add(row.values[at])
            if statistics:
                for stats, value in zip(self._stats, _dense_values(path, row), strict=True):
                    stats.add(value)

    def build(self, *, reserve: bool, normalize: bool) -> _FeatureMap:
        """Return the map: ids 0 … max in sorted order of the categories; a reserved last id on request."""
        categories = []
        for seen in self._seen:
            names = sorted(seen, key=_order) + ([_RESERVED] if reserve else [])
            categories.append({name: i for i, name in enumerate(names)})
        return _FeatureMap(categories, self._stats, normalize)


def _dense_values(path: Path, row: Row) -> list[float]:
    """Return the 11 numbers of a row.

    Raises:
        MigrateError: a value is not a finite number; names file, line and column.
    """
    try:
        values = [float(row.values[at]) for at in _DENSE_AT]
    except ValueError:
        values = [math.nan]
    if all(map(math.isfinite, values)):
        return values
    for name, at in zip(DENSE, _DENSE_AT, strict=True):
        try:
            wrong = not math.isfinite(float(row.values[at]))
        except ValueError:
            wrong = True
        if wrong:
            raise MigrateError(
                f"{path}:{row.line}: column `{name}` must be a number, got `{row.values[at]}`; correct it"
            )
    raise AssertionError("unreachable: one of the columns was not finite")


def _sparse_ids(path: Path, row: Row, feature_map: _FeatureMap) -> list[int]:
    """Return the 29 ids of a row.

    Raises:
        MigrateError: a category is not in the map and no id is reserved; names file, line, column and value.
    """
    ids = []
    for name, at, known in zip(SPARSE, _SPARSE_AT, feature_map.categories, strict=True):
        value = row.values[at]
        number = known.get(value, known.get(_RESERVED))
        if number is None:
            raise MigrateError(
                f"{path}:{row.line}: column `{name}` has the value `{value}`, which is not in the training file; "
                "use --unseen reserve, to reserve an id for such values, or --map-from both"
            )
        ids.append(number)
    return ids
