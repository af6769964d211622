"""Does a test notice when the code is changed? A fixed sample of changes, each tried on the tests that run its line.

    python -m tests.mutants sample 480 1      draw the sample: sample.tsv
    pytest --cover=FILE ...                   what each test runs
    python -m tests.mutants run FILE          try each: results.tsv; exit status 1 where one lives that was killed

A change is *killed* where a test fails, *alive* where none does, and *unseen* where no test runs its line. Tests that
start processes do not see it: what only they would notice counts as alive.
"""

from __future__ import annotations

import argparse
import ast
import csv
import importlib.abc
import importlib.machinery
import json
import os
import signal
import sys
import time
import types
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.sites import Mutant, read, sample, write
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "mutants"
SAMPLE, RESULTS = HERE / "sample.tsv", HERE / "results.tsv"
HEAD = ("path", "line", "column", "before", "after", "outcome", "tests", "seconds", "killed by")
#: What all tests import, so that a fork has it.
_PRELOADED = ("tensorflow", "libcst.metadata", "networkx", "hypothesis", "pytest", "click", "jinja2", "yaml", "ruff")


@dataclass
class Covered:
    """Which tests run a line, and how long each takes."""

    seconds: dict[str, float]
    tests: dict[tuple[str, int], list[str]]

    @classmethod
    def load(cls, prefix: str) -> Covered:
        """Read what `pytest --cover=PREFIX` wrote."""
        seconds: dict[str, float] = {}
        tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        for path in sorted(Path(prefix).parent.glob(f"{Path(prefix).name}.*")):
            for line in path.open():
                one = json.loads(line)
                seconds[one["test"]] = one["seconds"]
                for name, lines in one["lines"].items():
                    for number in lines:
                        tests[name, number].append(one["test"])
        return cls(seconds, tests)

    def of(self, mutant: Mutant, budget: float) -> list[str]:
        """Return the tests to ask, the quickest first, as many as the seconds allow."""
        found = sorted(self.tests.get((mutant.path, statement_of(mutant)), ()), key=lambda test: self.seconds[test])
        chosen, spent = [], 0.0
        for test in found:
            if chosen and spent + self.seconds[test] > budget:
                break
            chosen.append(test)
            spent += self.seconds[test]
        return chosen


def statement_of(mutant: Mutant) -> int:
    """Return the first line of the innermost statement that holds the change."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    tree, line = ast.parse(text), mutant.found(text)
    spans = [(n.lineno, int(n.end_lineno or 0)) for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    return max(first for first, last in spans if first <= line <= last)


class _Changed(importlib.abc.MetaPathFinder):
    """Imports the changed file in place of its own."""

    def __init__(self, mutant: Mutant) -> None:
        path = ROOT / mutant.path
        parts = Path(mutant.path).with_suffix("").parts
        self._name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self._code = compile(mutant.applied(path.read_text(encoding="utf-8")), str(path), "exec", dont_inherit=True)

    def find_spec(self, fullname: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if fullname != self._name:
            return None
        spec = importlib.machinery.PathFinder.find_spec(fullname, path)
        code = self._code

        class Loader(importlib.machinery.SourceFileLoader):
            def get_code(self, fullname: str) -> types.CodeType:
                return code

        assert spec is not None and spec.origin is not None
        spec.loader = Loader(fullname, spec.origin)
        return spec


def _try(mutant: Mutant, tests: Sequence[str], out: Path) -> None:
    """Run the tests in this process, a fork, which ends with pytest's exit status."""
    import pytest

    os.setsid()
    number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(number, 1)
    os.dup2(number, 2)
    try:
        sys.meta_path.insert(0, _Changed(mutant))
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--every-case", *tests]))
    except BaseException as error:
        print("killed at its import:", error)
        code = 1
    sys.stdout.flush()
    os._exit(code)


def _killer(out: Path) -> str:
    for line in out.read_text(errors="replace").splitlines():
        if line.startswith(("FAILED ", "ERROR ")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return "an import"


def run(covered: Covered, jobs: int, budget: float) -> list[tuple[str, ...]]:
    """Try each change of the sample; return the rows of the table."""
    for name in _PRELOADED:
        __import__(name)
    pending = [(mutant, covered.of(mutant, budget)) for mutant in read(SAMPLE)]
    total, rows, running = len(pending), [], {}
    folder = ROOT / "build" / "mutants"
    folder.mkdir(parents=True, exist_ok=True)
    while pending or running:
        while pending and len(running) < jobs:
            mutant, tests = pending.pop()
            out = folder / f"{len(pending)}.txt"
            if not tests:
                rows.append(_row(mutant, "unseen", 0, 0.0, ""))
                continue
            pid = os.fork()
            if pid == 0:
                _try(mutant, tests, out)
            running[pid] = (mutant, tests, out, time.monotonic())
        late = [pid for pid, one in running.items() if time.monotonic() - one[3] > 6 * budget + 60]
        for pid in late:
            os.killpg(pid, signal.SIGKILL)
        pid, status = os.waitpid(-1, os.WNOHANG) if running else (0, 0)
        if pid not in running:
            time.sleep(0.05)
            continue
        mutant, tests, out, began = running.pop(pid)
        code = os.waitstatus_to_exitcode(status)
        outcome, by = ("alive", "") if code == 0 else ("killed", "time" if pid in late else _killer(out))
        rows.append(_row(mutant, outcome, len(tests), time.monotonic() - began, by))
        print(f"{len(rows)}/{total} {outcome} {mutant.path}:{mutant.line} {mutant.before!r} -> {mutant.after!r} {by}")
    return sorted(rows)


def _row(mutant: Mutant, outcome: str, tests: int, seconds: float, by: str) -> tuple[str, ...]:
    place = (mutant.path, f"{mutant.line:04}", f"{mutant.column:03}", mutant.before, mutant.after)
    return (*place, outcome, str(tests), f"{seconds:.1f}", by)


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
    tried.add_argument("--seconds", type=float, default=30.0, help="of tests for each change")
    options = parser.parse_args(arguments)
    if options.command == "sample":
        write(sample(options.count, options.seed), SAMPLE)
        return 0
    before = {row[:5] for row in _rows() if row[5] == "killed"}
    rows = run(Covered.load(options.cover), options.jobs, options.seconds)
    with RESULTS.open("w", newline="") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerows([HEAD, *rows])
    escaped = [row for row in rows if row[:5] in before and row[5] != "killed"]
    for row in escaped:
        print(f"no longer killed: {row[0]}:{row[1]} {row[3]!r} -> {row[4]!r}")
    print({name: sum(row[5] == name for row in rows) for name in ("killed", "alive", "unseen")})
    return 1 if escaped else 0


def _rows() -> list[tuple[str, ...]]:
    if not RESULTS.exists():
        return []
    with RESULTS.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
