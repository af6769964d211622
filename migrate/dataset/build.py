"""Builds a feature map, TFRecord shards, statistics and a schema from delimited or Parquet files.

In the first pass, several processes read blocks of the files, compute statistics, count values, and store the columns
of each block in a file. The feature map is made from the counts, unless it is given. In the second pass, the columns
become records, one shard per task. The output does not depend on the number of processes and blocks: shards are
determined by row numbers, sums are exact and values are sorted.
"""

from __future__ import annotations

import json
import pickle
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from pathlib import Path
from typing import TypeVar

from migrate.dataset.blocks import Block, blocks_of, unpacked
from migrate.dataset.encode import features_of, statistics_of
from migrate.dataset.feature_map import FeatureMap, load_map, make_map
from migrate.dataset.report import report, report_text
from migrate.dataset.samples import read_samples
from migrate.dataset.schema_out import schema_text
from migrate.dataset.spec import DataSpec, load_spec
from migrate.dataset.statistics import Statistics
from migrate.dataset.tfrecord import RecordFile
from migrate.dataset.workers import Workers, workers
from migrate.errors import MigrateError
from migrate.folders import new_folder

Item = TypeVar("Item")
#: Shows progress: (results, number of results, description) -> the same results.
Progress = Callable[[Iterable[Item], int, str], Iterable[Item]]

MAP = "feature_map.json"


@dataclass(frozen=True)
class BuildOptions:
    """The options of `migrate dataset build`."""

    schema: str  #: a file, or the name of a bundled schema
    inputs: tuple[Path, ...]
    output: Path
    feature_map: Path | None = None
    jobs: int = 1
    skip_bad_rows: bool = False
    shard_rows: int = 100_000
    level: int = 1  #: gzip level; 0: not compressed
    block_bytes: int = 8 << 20
    force: bool = False  #: replace the output folder


@dataclass(frozen=True)
class BuildResult:
    """The number of rows and shards that were written."""

    rows: int
    skipped: int
    first_skipped: str
    shards: int


@dataclass(frozen=True)
class _Part:
    """Rows `start` to `stop` of a block; `columns` is the file with its columns."""

    columns: Path
    start: int
    stop: int


@dataclass(frozen=True)
class _Shard:
    path: Path
    parts: tuple[_Part, ...]


def build_dataset(options: BuildOptions, progress: Progress[object]) -> BuildResult:
    """Write shards, feature_map.json, statistics.json and .txt and, if possible, schema.yaml, atomically.

    Raises:
        MigrateError: an input, the schema, the feature map or a row is invalid, or the folder is not writable.
    """
    spec = load_spec(options.schema)
    if options.feature_map:
        load_map(options.feature_map, spec)
    with new_folder(options.output, replace=options.force) as stage, workers(options.jobs) as pool:
        spool = stage / ".columns"
        (spool / "unpacked").mkdir(parents=True)
        blocks = list(_blocks(options, spec, spool / "unpacked", pool))
        if options.feature_map:
            shutil.copyfile(options.feature_map, stage / MAP)
        tasks = [(block, spool / f"{i}") for i, block in enumerate(blocks)]
        statistics, rows = _scan(options, spec, tasks, pool, progress)
        shutil.rmtree(spool / "unpacked")
        if not statistics.rows:
            raise MigrateError(f"{options.inputs[0]}: the inputs have no rows; give files with rows")
        if not options.feature_map:
            _write_json(stage / MAP, make_map(spec, statistics).to_json())
        shards = _plan([path for _, path in tasks], rows, options, stage)
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
    options: BuildOptions, spec: DataSpec, tasks: list[tuple[Block, Path]], pool: Workers, progress: Progress[object]
) -> tuple[Statistics, list[int]]:
    """Return the statistics of all rows, and the number of rows of each block."""
    total, rows = Statistics(), []
    task = partial(_scan_block, spec=spec, map_path=options.feature_map, skip=options.skip_bad_rows)
    for found in progress(pool.run(task, tasks), len(tasks), "reading"):
        assert isinstance(found, Statistics)
        total.add(found)
        rows.append(found.rows)
    return total, rows


def _scan_block(task: tuple[Block, Path], spec: DataSpec, map_path: Path | None, skip: bool) -> Statistics:
    block, columns = task
    samples = read_samples(block, spec, _known(map_path, spec) if map_path else None, skip=skip)
    with columns.open("wb") as out:
        pickle.dump(samples, out, protocol=5)
    return statistics_of(samples, spec)


@lru_cache(maxsize=1)
def _known(path: Path, spec: DataSpec) -> FeatureMap:
    """Load the feature map, once per process."""
    return load_map(path, spec)


def _plan(blocks: list[Path], rows: list[int], options: BuildOptions, stage: Path) -> list[_Shard]:
    """Return the shards, each with its parts of blocks."""
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
    with RecordFile(shard.path, options.level) as file:
        for part in shard.parts:
            with part.columns.open("rb") as columns:
                samples = pickle.load(columns)  # written by `_scan_block`
            file.write(features_of(samples, spec, known), part.start, part.stop)


def _describe(spec: DataSpec, statistics: Statistics, known: FeatureMap, stage: Path) -> None:
    found = report(spec, statistics, known)
    _write_json(stage / "statistics.json", found)
    (stage / "statistics.txt").write_text(report_text(found), encoding="utf-8")
    text = schema_text(spec, known)
    if text:
        (stage / "schema.yaml").write_text(text, encoding="utf-8")


def _write_json(path: Path, content: Mapping[str, object]) -> None:
    path.write_text(json_lines(content) + "\n", encoding="utf-8", newline="\n")


def json_lines(content: Mapping[str, object]) -> str:
    """Return JSON with one line per entry of the first two levels, which is readable and fast for long lists."""
    lines = []
    for key, value in content.items():
        if isinstance(value, dict):
            entries = [f"\n  {json.dumps(name)}: {json.dumps(one, ensure_ascii=False)}" for name, one in value.items()]
            text = "{" + ",".join(entries) + "}"
        else:
            text = json.dumps(value, ensure_ascii=False)
        lines.append(f" {json.dumps(key)}: {text}")
    return "{\n" + ",\n".join(lines) + "\n}"
