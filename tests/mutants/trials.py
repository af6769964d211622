"""Changes, each tried in a fork of this process that runs the tests of its line."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import signal
import sys
import time
import types
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.mutants.covered import Covered
from tests.mutants.sites import Mutant
from tests.support.paths import ROOT

#: Of each change: what it printed.
OUTPUT = ROOT / "build" / "mutants"
#: What all tests import, so that a fork has it.
_PRELOADED = ("tensorflow", "libcst.metadata", "networkx", "hypothesis", "pytest", "click", "jinja2", "yaml", "ruff")


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


def _asked(tests: Sequence[str]) -> int:
    import pytest

    return int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--every-case", *tests]))


def _try(mutant: Mutant, tests: Sequence[str], out: Path) -> None:
    """Run the tests in this process, a fork, which ends with pytest's exit status."""
    import pytest

    os.setsid()
    number = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(number, 1)
    os.dup2(number, 2)
    try:
        sys.meta_path.insert(0, _Changed(mutant))
        code = _asked(tests)
        if code == pytest.ExitCode.USAGE_ERROR:  # the first of them, what killed it last time, is gone
            code = _asked(tests[1:]) if tests[1:] else 0
    except BaseException as error:
        print("killed at its import:", error)
        code = 1
    sys.stdout.flush()
    os._exit(code)


def killer_of(out: Path) -> str:
    """Return the test that failed, by what pytest wrote; "an import" where none is named."""
    for line in out.read_text(errors="replace").splitlines():
        if line.startswith(("FAILED tests/", "ERROR tests/")):
            return line.split(" ", 1)[1].split(" - ")[0]
    return "an import"


#: A line of results.tsv; its first five values say which change it is.
Row = tuple[str, ...]


@dataclass
class Trial:
    """A change, the tests that were and are to be asked about it, and what came of it."""

    mutant: Mutant
    waiting: list[str]
    asked: list[str]
    outcome: str = "alive"
    killer: str = ""
    seconds: float = 0.0

    @property
    def row(self) -> Row:
        """Its line of the table."""
        one, most = self.mutant, str(len(self.asked)) + ("+" if self.waiting and self.outcome == "alive" else "")
        place = (one.path, f"{one.line:04}", f"{one.column:03}", one.before, one.after)
        return (*place, self.outcome, most, f"{self.seconds:.1f}", self.killer)


def run(
    covered: Covered, mutants: Sequence[Mutant], jobs: int, budgets: Sequence[float], before: Mapping[Row, str]
) -> list[Trial]:
    """Try each change of the sample, what lives again with the next budget; `before`: what killed it last time."""
    for name in _PRELOADED:
        __import__(name)
    OUTPUT.mkdir(parents=True, exist_ok=True)
    trials = []
    for mutant in mutants:
        trial = Trial(mutant, [], [])
        trial.waiting = covered.of(mutant, before.get(trial.row[:5], ""))
        trial.outcome = "alive" if trial.waiting else "unseen"
        trials.append(trial)
    for budget in budgets:
        _round(covered, [one for one in trials if one.outcome == "alive" and one.waiting], jobs, budget)
    return trials


def _round(covered: Covered, trials: Sequence[Trial], jobs: int, budget: float) -> None:
    pending, done = list(trials), 0
    running: dict[int, tuple[Trial, Path, float]] = {}
    while pending or running:
        while pending and len(running) < jobs:
            trial, out = pending.pop(), OUTPUT / f"{len(pending)}.txt"
            tests = covered.within(trial.waiting, budget)
            trial.waiting, trial.asked = trial.waiting[len(tests) :], trial.asked + tests
            pid = os.fork()
            if pid == 0:
                _try(trial.mutant, tests, out)
            running[pid] = (trial, out, time.monotonic())
        late = [pid for pid, one in running.items() if time.monotonic() - one[2] > 6 * budget + 60]
        for pid in late:
            os.killpg(pid, signal.SIGKILL)
        pid, status = os.waitpid(-1, os.WNOHANG)
        if pid not in running:
            time.sleep(0.05)
            continue
        trial, out, began = running.pop(pid)
        trial.seconds += time.monotonic() - began
        if os.waitstatus_to_exitcode(status):
            trial.outcome, trial.killer = "killed", "time" if pid in late else killer_of(out)
        done += 1
        one = trial.mutant
        text = f"{one.path}:{one.line} {one.before!r} -> {one.after!r} {trial.killer}"
        print(f"{done}/{len(trials)} {trial.outcome} {text}", flush=True)
