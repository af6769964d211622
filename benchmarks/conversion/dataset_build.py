"""How long `migrate dataset build` takes over Criteo-like rows, beside the usual loops of pandas, one Example a row.

python -m benchmarks.conversion.dataset_build [--rows 1000000] [--turns 1] [--jobs 2,1]
    [--systems ours,pandas,rows] [--work DIR]

All read the same tab-separated file, give ids to values that occur ten times or more, take logarithms of the counts
and write gzipped TFRecords. `rows` is a loop over the rows of the frame that converts each value, `pandas` converts
whole columns and loops only to write. Nothing is printed unless all wrote the same bytes. pandas: pip install pandas.
"""

from __future__ import annotations

import argparse
import gzip
import itertools
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.common import markdown_table

DENSE = [f"I{i}" for i in range(1, 14)]
SPARSE = [f"C{i}" for i in range(1, 27)]
#: How many values each category can have: a few, thousands, or hundreds of thousands, as in Criteo's files.
RANGES = [1400, 550, 900_000, 400_000, 300, 20, 12_000, 600, 3, 90_000, 5_500, 800_000, 3_200, 27, 14_000, 700_000]
RANGES += [10, 5_000, 2_000, 4, 850_000, 18, 15, 140_000, 100, 75_000]
MIN_COUNT = 10
_SECTION = 50_000


def make_file(path: Path, rows: int) -> None:
    """Write rows in Criteo's format: zipf categories, skewed counts, gaps in both."""
    rng = np.random.default_rng(0)
    with path.open("w", encoding="ascii") as out:
        for start in range(0, rows, _SECTION):
            count = min(_SECTION, rows - start)
            columns = [[str(x) for x in (rng.random(count) < 0.25).astype(int)]]
            for _ in DENSE:
                values = rng.lognormal(2, 2, count).astype(np.int64) - 1
                gaps = rng.random(count) < 0.2
                columns.append(["" if gap else str(x) for x, gap in zip(values, gaps, strict=True)])
            for i, size in enumerate(RANGES):
                keys = (rng.zipf(1.2, count) % size * 2654435761 + i) % 2**32
                gaps = rng.random(count) < 0.03
                columns.append(["" if gap else f"{key:08x}" for key, gap in zip(keys, gaps, strict=True)])
            out.writelines("\t".join(row) + "\n" for row in zip(*columns, strict=True))


def frame_of(path: Path) -> Any:
    """Read the file with pandas."""
    import pandas as pd  # type: ignore[import-not-found,import-untyped,unused-ignore]

    names = ["label", *DENSE, *SPARSE]
    kinds: dict[str, Any] = dict.fromkeys(SPARSE, str)
    gaps: dict[str, list[str]] = {name: [""] for name in DENSE} | {name: [] for name in SPARSE}
    return pd.read_csv(path, sep="\t", names=names, dtype=kinds, na_values=gaps, keep_default_na=False)


def rows_loop(path: Path, out: Path) -> None:
    """Convert the file row by row."""
    import tensorflow as tf

    data = frame_of(path)
    maps = []
    for name in SPARSE:
        counts = data[name].value_counts()
        common = sorted(counts[counts >= MIN_COUNT].items(), key=lambda item: (-item[1], item[0]))
        maps.append({value: i for i, (value, _) in enumerate(common)})
    train = tf.train
    options = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=1)
    with tf.io.TFRecordWriter(str(out), options) as writer:
        for _, row in data.iterrows():
            counted = [0.0 if row[name] != row[name] else float(row[name]) for name in DENSE]
            dense = [np.sign(value) * np.log1p(abs(value)) for value in counted]
            sparse = [known.get(row[name], len(known)) for name, known in zip(SPARSE, maps, strict=True)]
            features = {
                "label": train.Feature(int64_list=train.Int64List(value=[row["label"]])),
                "dense_feature": train.Feature(float_list=train.FloatList(value=dense)),
                "sparse_feature": train.Feature(int64_list=train.Int64List(value=sparse)),
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))


def pandas_loop(path: Path, out: Path) -> None:
    """Convert the file by whole columns, and write it row by row."""
    import tensorflow as tf

    data = frame_of(path)
    for name in DENSE:
        values = data[name].fillna(0).to_numpy(np.float64)
        data[name] = np.sign(values) * np.log1p(np.abs(values))
    for name in SPARSE:
        counts = data[name].value_counts()
        common = sorted(counts[counts >= MIN_COUNT].items(), key=lambda item: (-item[1], item[0]))
        feature_map = {value: i for i, (value, _) in enumerate(common)}
        data[name] = data[name].map(lambda value, known=feature_map: known.get(value, len(known)))
    train = tf.train
    options = tf.io.TFRecordOptions(compression_type="GZIP", compression_level=1)
    dense, sparse, label = (data[columns].to_numpy() for columns in (DENSE, SPARSE, ["label"]))
    with tf.io.TFRecordWriter(str(out), options) as writer:
        for i in range(len(data)):
            features = {
                "label": train.Feature(int64_list=train.Int64List(value=label[i])),
                "dense_feature": train.Feature(float_list=train.FloatList(value=dense[i])),
                "sparse_feature": train.Feature(int64_list=train.Int64List(value=sparse[i])),
            }
            example = train.Example(features=train.Features(feature=features))
            writer.write(example.SerializeToString(deterministic=True))


LOOPS = {"pandas": pandas_loop, "rows": rows_loop}


def run(command: Sequence[str]) -> tuple[float, float, float]:
    """Run a command and return its seconds by the clock, those of the processors, and MiB of its largest process."""
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "TF_CPP_MIN_LOG_LEVEL": "3"}
    start = time.perf_counter()
    process = subprocess.Popen(command, env=os.environ | environment, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    if status:
        raise SystemExit(f"{' '.join(command)} ended with {os.waitstatus_to_exitcode(status)}")
    return wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def unpacked(files: Sequence[Path]) -> Iterator[bytes]:
    """Yield the bytes of gzipped files one behind the other, always as many at a time."""
    waiting = b""
    for path in files:
        with gzip.open(path) as stream:
            while part := stream.read(1 << 20):
                waiting += part
                while len(waiting) >= 1 << 20:
                    yield waiting[: 1 << 20]
                    waiting = waiting[1 << 20 :]
    yield waiting


def outputs(system: str, path: Path, work: Path) -> tuple[list[str], Path]:
    """Return the command of a system and where it writes."""
    if system in LOOPS:
        out = work / f"{system}.tfrecord.gz"
        return [sys.executable, "-m", "benchmarks.conversion.dataset_build", "--loop", system, str(path), str(out)], out
    jobs = system.rpartition(" ")[2]
    out = work / f"ours{jobs}"
    arguments = ["dataset", "build", "--schema", "criteo", str(path), "-j", jobs, "-o", str(out), "--force"]
    return [sys.executable, "-m", "migrate", *arguments], out


def measure(path: Path, work: Path, systems: Sequence[str], turns: int) -> dict[str, list[tuple[float, float, float]]]:
    """Return clock, processor seconds and MiB of every turn; the systems take turns."""
    times: dict[str, list[tuple[float, float, float]]] = {system: [] for system in systems}
    for _ in range(turns):
        for system in systems:
            times[system].append(run(outputs(system, path, work)[0]))
    written = []
    for system in systems:
        out = outputs(system, path, work)[1]
        written.append(unpacked(sorted(out.glob("part-*")) if out.is_dir() else [out]))
    for parts in itertools.zip_longest(*written):
        if len(set(parts)) > 1:
            raise SystemExit("the systems wrote different records")
    return times


def table(times: dict[str, list[tuple[float, float, float]]], rows: int) -> str:
    """Return medians, rows a second and ratios as a Markdown table."""
    medians = {system: [statistics.median(one) for one in zip(*turns, strict=True)] for system, turns in times.items()}
    first = next(iter(medians.values()))[0]
    lines = [
        [system, f"{wall:.1f}", f"{cpu:.1f}", f"{rows / wall:,.0f}", f"{wall / first:.2f}", f"{memory:,.0f}"]
        for system, (wall, cpu, memory) in medians.items()
    ]
    return markdown_table(["system", "s", "processor s", "rows/s", "÷ the first", "largest process MiB"], lines)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--turns", type=int, default=1)
    parser.add_argument("--jobs", default=str(len(os.sched_getaffinity(0))), help="numbers of processes to measure")
    parser.add_argument("--systems", default="ours,pandas,rows")
    parser.add_argument("--work", help="a folder for the files; default: a temporary one")
    parser.add_argument("--loop", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.loop:
        LOOPS[given.loop[0]](*map(Path, given.loop[1:]))
        return
    systems = [f"ours, processes: {jobs}" for jobs in given.jobs.split(",")] if "ours" in given.systems else []
    systems += [loop for loop in LOOPS if loop in given.systems.split(",")]
    with tempfile.TemporaryDirectory(dir=given.work) as name:
        path = Path(name) / "criteo.tsv"
        make_file(path, given.rows)
        print(f"{given.rows:,} rows, {path.stat().st_size / 2**20:,.0f} MiB, median of {given.turns}\n")
        print(table(measure(path, Path(name), systems, given.turns), given.rows))


if __name__ == "__main__":
    main()
