"""Builds the feature map, TFRecords and schema from the original files, in two passes over the rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from migrate.dataset.census.columns import (
    COLUMNS,
    INCOME_HIGH,
    NEVER_MARRIED,
    TEST_NAME,
    TEST_TRUTH,
    TRAIN_NAME,
    TRAIN_TRUTH,
)
from migrate.dataset.census.mapping import FeatureMap, MapBuilder, dense_values, sparse_ids
from migrate.dataset.census.reading import Row, read_rows
from migrate.dataset.census.schema_file import schema_text
from migrate.dataset.census.synthetic import write_synthetic
from migrate.dataset.files import StagedFolder, staged
from migrate.dataset.tfrecord import Sample, write_samples
from migrate.errors import MigrateError

#: Shows progress: (rows, their file, description) -> the same rows.
Progress = Callable[[Iterable[Row], Path, str], Iterable[Row]]


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
            out.write(schema_text(feature_map.sizes))
    return CensusResult(folder, train_rows, test_rows, feature_map.sizes)


def _spare_originals(folder: Path) -> None:
    """Raise MigrateError if synthetic rows would replace original files, which have no file with probabilities."""
    for name, truth in ((TRAIN_NAME, TRAIN_TRUTH), (TEST_NAME, TEST_TRUTH)):
        if (folder / name).exists() and not (folder / truth).exists():
            raise MigrateError(
                f"{folder / name} is not synthetic ({truth} is missing) and would be overwritten; choose another -o"
            )


def _collect(options: CensusOptions, train: Path, test: Path, progress: Progress) -> FeatureMap:
    builder = MapBuilder()
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
    feature_map: FeatureMap,
    progress: Progress,
) -> int:
    rows = progress(read_rows(source), source, f"writing {name}")
    return write_samples(stage.path(name), _samples(options, source, rows, feature_map))


def _samples(options: CensusOptions, source: Path, rows: Iterable[Row], feature_map: FeatureMap) -> Iterator[Sample]:
    income, marital = COLUMNS.index("income_50k"), COLUMNS.index("marital_stat")
    scale = [(s.mean, s.std) if options.normalize else (0.0, 1.0) for s in feature_map.stats]
    for row in rows:
        dense = [(v - mean) / std for v, (mean, std) in zip(dense_values(source, row), scale, strict=True)]
        label = [int(row.values[income] == INCOME_HIGH), int(row.values[marital] == NEVER_MARRIED)]
        yield Sample(label, sparse_ids(source, row, feature_map), dense)
