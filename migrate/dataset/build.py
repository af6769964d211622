"""Builds a feature map, TFRecord shards, statistics and a schema from delimited or Parquet files.

In the first pass, several processes read blocks of the files, compute statistics, count values, and store the columns
of each block in a file. The feature map is made from the counts, unless it is given. In the second pass, the columns
become records, one shard per task. The output does not depend on the number of processes and blocks: shards are
determined by row numbers, sums are exact and values are sorted.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from multiprocessing.connection import wait
from pathlib import Path
from typing import TypeVar

import numpy as np
import yaml

from migrate.dataset.arrow import pa
from migrate.dataset.blocks import Block, blocks_of, unpacked
from migrate.dataset.feature_map import FeatureMap, HashIds, load_map, make_map
from migrate.dataset.parse import Array, Converted, Integers, Texts
from migrate.dataset.report import report, report_text
from migrate.dataset.samples import Samples, read_samples
from migrate.dataset.spec import DataSpec, SparseColumn, load_spec
from migrate.dataset.statistics import Categories, Counts, Moments, Statistics
from migrate.dataset.tfrecord import RecordFile
from migrate.dataset.wire import Feature
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
    for part in progress(pool.run(task, tasks), len(tasks), "reading"):
        assert isinstance(part, Statistics)
        total.add(part)
        rows.append(part.rows)
    return total, rows


def _scan_block(task: tuple[Block, Path], spec: DataSpec, map_path: Path | None, skip: bool) -> Statistics:
    block, columns = task
    samples = read_samples(block, spec, _known(map_path, spec) if map_path else None, skip=skip)
    with columns.open("wb") as out:
        pickle.dump(samples, out, protocol=5)
    return _statistics_of(samples, spec)


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
            file.write(_features_of(samples, spec, known), part.start, part.stop)


def _describe(spec: DataSpec, statistics: Statistics, known: FeatureMap, stage: Path) -> None:
    facts = report(spec, statistics, known)
    _write_json(stage / "statistics.json", facts)
    (stage / "statistics.txt").write_text(report_text(facts), encoding="utf-8")
    text = _schema_text(spec, known)
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


def _schema_text(spec: DataSpec, known: FeatureMap) -> str:
    """Return the schema of an input row of dense columns and one-hot groups, or an empty text if there is none.

    There is none for raw ids, whose range is unknown, and for multi-hot columns, which have no fixed number of ids.
    """
    sizes = [_size(column, known) for column in spec.sparse]
    if not all(sizes) or any(column.multiple for column in spec.sparse):
        return ""
    start, groups = len(spec.dense), []
    for column, size in zip(spec.sparse, sizes, strict=True):
        groups.append({"name": column.name, "start": start, "size": size})
        start += size
    wide = {"size": start, "dense": [[0, len(spec.dense)]] if spec.dense else [], "sparse": groups}
    parts = {"model": spec.model.get("model"), "input": wide, "labels": [label.name for label in spec.labels]}
    content = {"version": 1} | parts | {"tasks": spec.model.get("tasks")}
    filled = {key: value for key, value in content.items() if value is not None}
    head = "# Written by `migrate dataset build`: dense columns first, then a one-hot group for each sparse column.\n"
    return head + yaml.safe_dump(filled, sort_keys=False, allow_unicode=True, default_flow_style=None, width=120)


def _size(column: SparseColumn, known: FeatureMap) -> int:
    if column.ids in ("map", "hash"):
        return known.sparse[column.name].size
    return len(column.buckets) + 1 if column.ids == "buckets" else 0


def _statistics_of(samples: Samples, spec: DataSpec) -> Statistics:
    """Return the statistics of a block's rows."""
    labels = {label.name: Moments.of(samples.labels[:, i]) for i, label in enumerate(spec.labels)}
    dense = {name: _moments(found) for name, found in samples.dense.items()}
    sparse = {column.name: _sparse(column, samples.sparse[column.name]) for column in spec.sparse}
    timestamp = None if samples.timestamp is None else Moments.of(samples.timestamp)
    return Statistics(samples.rows, samples.skipped, samples.first_skipped, labels, dense, sparse, timestamp)


def _moments(converted: Converted) -> Moments:
    present = ~converted.missing
    return Moments.of(converted.values[present], int(converted.missing.sum()))


def _sparse(column: SparseColumn, raw: Texts | Integers | Converted) -> Categories | Moments:
    if isinstance(raw, Converted):
        ids, counts = np.unique(_buckets(column, raw), return_counts=True)
        return Categories(int(counts.sum()), int(raw.missing.sum()), Counts(pa.array(ids), counts))
    if isinstance(raw, Integers):
        return Moments.of(raw.values)
    counts = np.bincount(raw.codes, minlength=len(raw.texts))
    values = raw.texts
    empty = values.index("").as_py()
    missing = int(counts[empty]) if empty >= 0 and raw.offsets is None else 0
    if column.ids == "hash":
        ids, where = np.unique(HashIds(column.size).ids(values), return_inverse=True)
        counts = np.bincount(where, weights=counts, minlength=len(ids)).astype(np.int64)
        values = pa.array(ids)
    some = counts > 0
    return Categories(int(counts.sum()), missing, Counts(values.filter(pa.array(some)), counts[some]))


def _buckets(column: SparseColumn, converted: Converted) -> Array:
    filled = np.where(converted.missing, column.missing or 0.0, converted.values)
    return np.searchsorted(np.array(column.buckets), filled, side="right").astype(np.int64)


def _features_of(samples: Samples, spec: DataSpec, known: FeatureMap) -> list[Feature]:
    """Return the features of a block's rows, with the names and shapes that readers expect."""
    features = [Feature("label", samples.labels)]
    if spec.dense:
        columns = []
        for column in spec.dense:
            converted = samples.dense[column.name]
            filled = np.where(converted.missing, column.missing or 0.0, converted.values)
            columns.append(known.dense[column.name].apply(filled).astype(np.float32))
        features.append(Feature("dense_feature", np.stack(columns, axis=1)))
    if spec.single:
        ids = [_ids(column, samples.sparse[column.name], known) for column in spec.single]
        features.append(Feature("sparse_feature", np.stack(ids, axis=1)))
    for sparse in spec.sparse:
        values = samples.sparse[sparse.name]
        if sparse.multiple and not isinstance(values, Converted):
            features.append(Feature(sparse.name, _ids(sparse, values, known), values.offsets))
    if samples.timestamp is not None:
        features.append(Feature("timestamp", samples.timestamp.astype(np.int64)[:, None]))
    return features


def _ids(column: SparseColumn, values: Texts | Integers | Converted, known: FeatureMap) -> Array:
    if isinstance(values, Converted):
        return _buckets(column, values)
    if isinstance(values, Integers):
        return values.values
    return known.sparse[column.name].ids(values.texts)[values.codes]


Task = TypeVar("Task")
Result = TypeVar("Result")


class Workers:
    """Runs functions in worker processes, or in this process if there is only one job."""

    def __init__(self, pool: ProcessPoolExecutor | None, jobs: int) -> None:
        self._pool, self._jobs = pool, jobs

    def run(self, function: Callable[[Task], Result], tasks: Iterable[Task]) -> Iterator[Result]:
        """Yield the results of all tasks, in order; only a few tasks are submitted at a time, to limit memory.

        Raises:
            MigrateError: a process died, usually because memory is exhausted.
        """
        if self._pool is None:
            yield from map(function, tasks)
            return
        under_way: deque[Future[Result]] = deque()
        try:
            for task in tasks:
                under_way.append(self._pool.submit(function, task))
                if len(under_way) > 2 * self._jobs:
                    yield under_way.popleft().result()
            while under_way:
                yield under_way.popleft().result()
        except BrokenProcessPool as error:
            raise MigrateError(
                "a process of the build was killed, usually because memory is exhausted; "
                "give fewer --jobs or a smaller --block-size"
            ) from error


@contextmanager
def workers(jobs: int) -> Iterator[Workers]:
    """Yield workers, whose processes are ended when the block is left."""
    if jobs == 1:
        yield Workers(None, 1)
        return
    # Not fork: a forked process would have the locks of threads that it does not have.
    pool = ProcessPoolExecutor(jobs, multiprocessing.get_context("spawn"), _begin)
    try:
        yield Workers(pool, jobs)
    except BaseException:
        for process in list(pool._processes.values()):
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin() -> None:
    # Ctrl-C reaches all processes of a terminal; the main process handles it.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    """Exit when the main process was killed."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
