"""Does a test notice when the code is changed? A fixed sample of changes, each tried on the tests that run its line.

    python -m tests.mutants sample 480 1      draw the sample: sample.tsv
    pytest --cover=FILE ...                   what each test runs
    python -m tests.mutants run FILE          try each; results.tsv, unless one lives that was killed
    python -m tests.mutants files FILE        what each test file takes, what only it runs or kills, and its tests that
                                              a second version of TensorFlow can do without: tests/files.tsv

A change is *killed* where a test fails, *alive* where none does, and *unseen* where no test runs its line. Tests that
start processes do not see it: what only they would notice counts as alive. survivors.tsv has the reason why each that
is alive is left.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from tests.mutants.covered import Covered
from tests.mutants.covering import spared
from tests.mutants.sites import read, sample, write
from tests.mutants.trials import OUTPUT, run
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "mutants"
SAMPLE, RESULTS = HERE / "sample.tsv", HERE / "results.tsv"
FILES = ROOT / "tests" / "files.tsv"
HEAD = ("path", "line", "column", "before", "after", "outcome", "tests", "seconds", "killed by")


def main(arguments: Sequence[str]) -> int:
    """Draw the sample, or run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants")
    commands = parser.add_subparsers(dest="command", required=True)
    drawn = commands.add_parser("sample")
    drawn.add_argument("count", type=int)
    drawn.add_argument("seed", type=int)
    tried = commands.add_parser("run")
    tried.add_argument("cover", help="what `pytest --cover=` wrote")
    tried.add_argument("--jobs", type=int, default=os.cpu_count())
    tried.add_argument("--seconds", type=float, nargs="+", default=[20.0], help="of tests, in each round")
    counted = commands.add_parser("files")
    counted.add_argument("cover", help="what `pytest --cover=` wrote")
    options = parser.parse_args(arguments)
    if options.command == "sample":
        write(sample(options.count, options.seed), SAMPLE)
        return 0
    covered = Covered.load(options.cover)
    if options.command == "files":
        _write(FILES, per_file(covered))
        return 0
    before = {row[:5]: row[-1] for row in _rows() if row[5] == "killed"}
    trials = run(covered, read(SAMPLE), options.jobs, options.seconds, before)
    rows = sorted(one.row for one in trials)
    print({name: sum(row[5] == name for row in rows) for name in ("killed", "alive", "unseen")})
    escaped = [row for row in rows if row[:5] in before and row[5] != "killed"]
    for row in escaped:
        print(f"no longer killed: {row[0]}:{row[1]} {row[3]!r} -> {row[4]!r}; it was by {before[row[:5]]}")
    _write(OUTPUT / "results.tsv" if escaped else RESULTS, [HEAD, *rows])
    return 1 if escaped else 0


def per_file(covered: Covered) -> list[tuple[str, ...]]:
    """Return the table of test files: what each takes, what only it runs or kills, and its tests for one version."""
    totals: dict[str, list[float]] = defaultdict(lambda: [0, 0.0, 0.0, 0, 0])
    for test, seconds in covered.seconds.items():
        one = totals[test.partition("::")[0]]
        one[0], one[1], one[2] = one[0] + 1, one[1] + seconds, one[2] + covered.processor[test]
    for tests in covered.tests.values():
        files = {test.partition("::")[0] for test in tests}
        if len(files) == 1:
            totals[files.pop()][3] += 1
    for row in _rows():
        if row[-1].partition("::")[0] in totals:
            totals[row[-1].partition("::")[0]][4] += 1
    head = ("file", "tests", "seconds", "processor", "statements only it runs", "mutants it killed", "spared on 2.21")
    without = spared(covered)
    return [
        head,
        *(
            (file, f"{n}", f"{s:.1f}", f"{c:.1f}", f"{o}", f"{k}", " ".join(without.get(file, ())))
            for file, (n, s, c, o, k) in sorted(totals.items())
        ),
    ]


def _write(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


def _rows() -> list[tuple[str, ...]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
