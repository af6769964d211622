"""How long `migrate check` takes over a repository, with an empty and a full cache, beside TensorFlow's tf_upgrade_v2.

python -m benchmarks.conversion.convert_repository [TREE] [--files 1500] [--every 50] [--turns 3] [--jobs N]

Without TREE, one is made: `--files` modules of about 200 lines, of which each `--every`-th is a TensorFlow model and as
many more only import TensorFlow.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.common import markdown_table

FUNCTION = '''
def step_{number}(rows, limit={number}, *, scale=1.0):
    """Return the rows whose weighted sum stays below the limit."""
    kept = []
    for index, row in enumerate(rows):
        total = sum(value * scale for value in row.values() if value is not None)
        if total < limit:
            kept.append({{"index": index, "total": total, "row": dict(row)}})
    return sorted(kept, key=lambda item: (item["total"], item["index"]))
'''
MODEL = """
def model_{number}(ids, labels):
    table = tf.get_variable("user_{number}", [100000, 16], initializer=tf.zeros_initializer())
    rows = tf.nn.embedding_lookup(table, ids)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(rows, axis=1) - labels))
    return tf.train.AdagradOptimizer(0.1).minimize(loss)
"""


def make_tree(root: Path, files: int, every: int) -> None:
    """Write a tree of modules below `root`."""
    for number in range(files):
        uses = number % every in {0, 1}
        head = "import tensorflow.compat.v1 as tf\n" if uses else "import os\n"
        body = [FUNCTION.format(number=at) for at in range(20)]
        if number % every == 0:
            body.append(MODEL.format(number=number))
        path = root / f"package_{number // 50}" / f"module_{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(head + "".join(body), encoding="utf-8")


def count(root: Path) -> tuple[int, int]:
    """Return the number of Python files below `root` and of their lines."""
    data = [path.read_bytes() for path in root.rglob("*.py") if path.is_file()]
    return len(data), sum(text.count(b"\n") for text in data)


def run(command: Sequence[str], directory: Path) -> tuple[float, float]:
    """Run a command and return its seconds by the clock and of the processors; exit codes 0 and 1 are fine."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False, env=environment())
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in {0, 1}:
        raise SystemExit(f"{command[0]} ended with {done.returncode}: {done.stderr[-500:]}")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def environment() -> dict[str, str]:
    """Return the environment of the measured commands: this checkout, whatever their directory."""
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "TF_CPP_MIN_LOG_LEVEL": "3"}


def measure(tree: Path, turns: int, jobs: int) -> dict[str, list[tuple[float, float]]]:
    """Return the seconds (clock, processors) of every turn of every system."""
    times: dict[str, list[tuple[float, float]]] = {}
    upgrade = shutil.which("tf_upgrade_v2", path=str(Path(sys.executable).parent))
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for _ in range(turns):
            shutil.rmtree(work / "cache", ignore_errors=True)
            check = [sys.executable, "-m", "migrate", "check", str(tree), "-j", str(jobs), "--cache-dir", "cache"]
            for system in ("migrate, empty cache", "migrate, full cache"):
                times.setdefault(system, []).append(run(check, work))
            if upgrade:
                shutil.rmtree(work / "out", ignore_errors=True)
                command = [upgrade, "--intree", str(tree), "--outtree", "out", "--reportfile", "report.txt"]
                times.setdefault("tf_upgrade_v2", []).append(run(command, work))
    return times


def table(times: dict[str, list[tuple[float, float]]], lines: int) -> str:
    """Return medians, lines per second and ratios as a Markdown table."""
    medians = {system: statistics.median(wall for wall, _ in turns) for system, turns in times.items()}
    processors = {system: statistics.median(cpu for _, cpu in turns) for system, turns in times.items()}
    first = next(iter(medians.values()))
    rows = [
        [system, f"{wall:.2f}", f"{processors[system]:.2f}", f"{lines / wall:,.0f}", f"{wall / first:.2f}"]
        for system, wall in medians.items()
    ]
    return markdown_table(["system", "s", "processor s", "lines/s", "÷ empty cache"], rows)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tree", nargs="?", type=Path)
    parser.add_argument("--files", type=int, default=1500)
    parser.add_argument("--every", type=int, default=50)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        tree = given.tree or Path(name)
        if given.tree is None:
            make_tree(tree, given.files, given.every)
        files, lines = count(tree)
        if not files:
            raise SystemExit(f"{tree}: no Python files")
        print(f"{files:,} files, {lines:,} lines, {given.jobs} processes, median of {given.turns}\n")
        print(table(measure(tree.resolve(), given.turns, given.jobs), lines))


if __name__ == "__main__":
    main()
