"""How much processor time and memory `migrate check` takes over repositories, and after one file changed.

python -m benchmarks.conversion.check_repositories DIRECTORY [DIRECTORY ...] [--reports FOLDER] [--cold]

Each directory is checked by one process without a cache. Then, unless `--cold`, a copy of it is checked with an empty
cache, with the full one, and after a line was added to the largest file with a table. Lines are those of all Python
files. The reports of the first check go to `--reports`, to be compared with those of another state of the converter.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.common import BenchmarkError, markdown_table
from benchmarks.conversion.convert_repository import count, environment

HEADS = ["repository", "lines", "processor s", "lines a second", "peak MiB", "empty cache", "full", "one file changed"]


@dataclass(frozen=True)
class Check:
    """What one check took: seconds of processor time, and the largest resident memory in MiB."""

    seconds: float
    peak: float


def check(directory: Path, report: Path, *options: str) -> Check:
    """Run `migrate check` in one process and measure it; raises BenchmarkError if it could not run."""
    command = [sys.executable, "-m", "migrate", "check", ".", "--quiet", "--jobs", "1", "--report", str(report)]
    with subprocess.Popen([*command, *options], cwd=directory, env=environment(), stdout=subprocess.DEVNULL) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in {0, 1}:
        raise BenchmarkError(f"{directory}: the check ended with {process.returncode}; run it by hand to see why")
    return Check(used.ru_utime + used.ru_stime, used.ru_maxrss / 1024)


def cached(directory: Path, report: Path) -> list[float]:
    """Return the seconds of a check with an empty cache, of one with the full cache, and of one after a change."""
    tables = json.loads(report.read_text(encoding="utf-8"))["tables"]
    with tempfile.TemporaryDirectory() as name:
        copy, cache = Path(name, "copy"), str(Path(name, "cache"))
        shutil.copytree(directory, copy, symlinks=True, ignore=shutil.ignore_patterns(".git"))
        files = {copy / one["location"]["path"] for one in tables} or {*copy.rglob("*.py")}
        seconds = [check(copy, Path(name, "report.json"), "--cache-dir", cache).seconds for _ in range(2)]
        changed = max(files, key=lambda path: path.stat().st_size)
        changed.write_bytes(changed.read_bytes() + b"\n")
        return [*seconds, check(copy, Path(name, "report.json"), "--cache-dir", cache).seconds]


def row(directory: Path, reports: Path, cold: bool) -> list[str]:
    """Return the cells of one repository."""
    report = reports / f"{directory.name}.json"
    whole, (_, lines) = check(directory, report, "--no-cache"), count(directory)
    later = [] if cold else [f"{one:.1f}" for one in cached(directory, report)]
    numbers = [f"{lines:,}", f"{whole.seconds:.1f}", f"{lines / whole.seconds:,.0f}", f"{whole.peak:,.0f}"]
    return [directory.name, *numbers, *later]


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path)
    parser.add_argument("--reports", type=Path)
    parser.add_argument("--cold", action="store_true")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as name:
        reports = (options.reports or Path(name)).resolve()
        reports.mkdir(parents=True, exist_ok=True)
        rows = [row(directory.resolve(), reports, options.cold) for directory in options.directories]
    print(markdown_table(HEADS[:5] if options.cold else HEADS, rows))


if __name__ == "__main__":
    main()
