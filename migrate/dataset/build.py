"""Delimited or Parquet files -> feature map -> TFRecord shards, statistics and schema.

Two passes over blocks of the files, each by several processes. The first takes statistics and counts values; from them
comes the feature map, unless one is given. The second turns rows into records, a shard a task. Which rows make a shard
follows from their number alone, sums are exact, values are sorted: the bytes do not depend on the processes or blocks.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeVar

from migrate.dataset.blocks import Block, blocks_of, unpacked
from migrate.dataset.encode import features_of, statistics_of
from migrate.dataset.feature_map import FeatureMap, load_map, make_map
from migrate.dataset.files import new_folder
from migrate.dataset.report import report, report_text
from migrate.dataset.samples import read_samples
from migrate.dataset.schema_out import schema_text
from migrate.dataset.spec import DataSpec, load_spec
from migrate.dataset.statistics import Statistics
from migrate.dataset.tfrecord import RecordFile
from migrate.dataset.workers import Workers, workers
from migrate.errors import MigrateError

Item = TypeVar("Item")
#: Shows how far a pass is: (results, how many there will be, what is done) -> the same results.
Progress = Callable[[Iterable[Item], int, str], Iterable[Item]]

MAP = "feature_map.json"


@dataclass(frozen=True)
class BuildOptions:
    """What `migrate dataset build` was asked to do."""

    schema: str  #: a file, or the name of a bundled schema
    inputs: tuple[Path, ...]
    output: Path
    feature_map: Path | None = None
    jobs: int = 1
    skip_bad_rows: bool = False
    shard_rows: int = 100_000
    level: int = 1  #: of gzip; 0: not compressed
    block_bytes: int = 4 << 20
    force: bool = False  #: replace the output folder


@dataclass(frozen=True)
class BuildResult:
    """What was written."""

    rows: int
    skipped: int
    first_skipped: str
    shards: int


@dataclass(frozen=True)
class _Part:
    """Rows `start` to `stop` of a block."""

    block: Block
    start: int
    stop: int


@dataclass(frozen=True)
class _Shard:
    path: Path
    parts: tuple[_Part, ...]


def build_dataset(options: BuildOptions, progress: Progress[object]) -> BuildResult:
    """Write shards, feature_map.json, statistics.json and .txt and, where it can be, schema.yaml; all or nothing.

    Raises:
        MigrateError: a file, the schema, the feature map or a row is wrong, or the folder is not writable.
    """
    spec = load_spec(options.schema)
    if options.feature_map:
        load_map(options.feature_map, spec)
    with new_folder(options.output, replace=options.force) as stage, workers(options.jobs) as pool:
        spool = stage / ".unpacked"
        spool.mkdir()
        blocks = list(_blocks(options, spec, spool, pool))
        if options.feature_map:
            shutil.copyfile(options.feature_map, stage / MAP)
        statistics, rows = _scan(options, spec, blocks, stage, pool, progress)
        if not statistics.rows:
            raise MigrateError(f"{options.inputs[0]}: no rows to build from; give files that have some")
        if not options.feature_map:
            _write_json(stage / MAP, make_map(spec, statistics).to_json())
        shards = _plan(blocks, rows, options, stage)
        task = partial(_write_shard, spec=spec, map_path=stage / MAP, options=options)
        for _ in progress(pool.run(task, shards), len(shards), "writing"):
            pass
        shutil.rmtree(spool)
        _describe(spec, statistics, load_map(stage / MAP, spec), stage)
    return BuildResult(statistics.rows, statistics.skipped, statistics.first_skipped, len(shards))


def _blocks(options: BuildOptions, spec: DataSpec, spool: Path, pool: Workers) -> Iterator[Block]:
    tasks = [(path, spool, i) for i, path in enumerate(options.inputs)]
    for path, plain in zip(options.inputs, pool.run(_unpack, tasks), strict=True):
        yield from blocks_of(path, plain, spec, options.block_bytes)


def _unpack(task: tuple[Path, Path, int]) -> Path:
    return unpacked(*task)


def _scan(
    options: BuildOptions, spec: DataSpec, blocks: list[Block], stage: Path, pool: Workers, progress: Progress[object]
) -> tuple[Statistics, list[int]]:
    """Return the statistics of all rows, and how many each block has."""
    total, rows = Statistics(), []
    given = stage / MAP if options.feature_map else None
    task = partial(_scan_block, spec=spec, map_path=given, skip=options.skip_bad_rows)
    for found in progress(pool.run(task, blocks), len(blocks), "reading"):
        assert isinstance(found, Statistics)
        total.add(found)
        rows.append(found.rows)
    return total, rows


def _scan_block(block: Block, spec: DataSpec, map_path: Path | None, skip: bool) -> Statistics:
    known = _known(map_path, spec) if map_path else None
    return statistics_of(read_samples(block, spec, known, skip=skip), spec)


@lru_cache(maxsize=1)
def _known(path: Path, spec: DataSpec) -> FeatureMap:
    """Load a process's map once."""
    return load_map(path, spec)


def _plan(blocks: list[Block], rows: list[int], options: BuildOptions, stage: Path) -> list[_Shard]:
    """Return which rows of which blocks make each shard."""
    ends = list(accumulate(rows, initial=0))
    count = -(-ends[-1] // options.shard_rows)
    suffix = ".tfrecord.gz" if options.level else ".tfrecord"
    shards = []
    for i in range(count):
        low, high = i * options.shard_rows, min((i + 1) * options.shard_rows, ends[-1])
        parts = tuple(
            _Part(block, max(low - start, 0), min(high, stop) - start)
            for block, (start, stop) in zip(blocks, pairwise(ends), strict=True)
            if start < high and stop > low
        )
        shards.append(_Shard(stage / f"part-{i:05d}-of-{count:05d}{suffix}", parts))
    return shards


def _write_shard(shard: _Shard, spec: DataSpec, map_path: Path, options: BuildOptions) -> None:
    known = _known(map_path, spec)
    given = known if options.feature_map else None
    with RecordFile(shard.path, options.level) as file:
        for part in shard.parts:
            samples = read_samples(part.block, spec, given, skip=options.skip_bad_rows)
            file.write(features_of(samples, spec, known), part.start, part.stop)


def _describe(spec: DataSpec, statistics: Statistics, known: FeatureMap, stage: Path) -> None:
    found = report(spec, statistics, known)
    _write_json(stage / "statistics.json", found)
    (stage / "statistics.txt").write_text(report_text(found), encoding="utf-8")
    text = schema_text(spec, known)
    if text:
        (stage / "schema.yaml").write_text(text, encoding="utf-8")


def _write_json(path: Path, content: object) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as out:
        json.dump(content, out, indent=1, ensure_ascii=False)
        out.write("\n")
