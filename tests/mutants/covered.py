"""What `pytest --cover=FILE` wrote: which tests run a line, and how long each takes."""

from __future__ import annotations

import ast
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.sites import Mutant
from tests.support.paths import ROOT


@dataclass
class Covered:
    """Which tests run a line, and how long each takes, by the clock and of a processor."""

    seconds: dict[str, float]
    processor: dict[str, float]
    tests: dict[tuple[str, int], list[str]]

    @classmethod
    def load(cls, prefix: str) -> Covered:
        """Read what `pytest --cover=PREFIX` wrote."""
        seconds: dict[str, float] = {}
        processor: dict[str, float] = {}
        tests: dict[tuple[str, int], list[str]] = defaultdict(list)
        for path in sorted(Path(prefix).parent.glob(f"{Path(prefix).name}.*")):
            for line in path.open():
                one = json.loads(line)
                seconds[one["test"]], processor[one["test"]] = one["seconds"], one["processor"]
                for name, lines in one["lines"].items():
                    for number in lines:
                        tests[name, number].append(one["test"])
        return cls(seconds, processor, tests)

    def of(self, mutant: Mutant, first: str) -> list[str]:
        """Return the tests to ask: `first`, then the quickest of each file, and so on.

        `first` is what killed it last time, also where this cover did not run it: a cover may have two cases of each
        test, and a change is often killed by one of the others.
        """
        by_file: dict[str, list[str]] = defaultdict(list)
        for test in sorted(self.tests.get((mutant.path, statement_of(mutant)), ()), key=self.seconds.__getitem__):
            by_file[test.partition("::")[0]].append(test)
        turns = [
            (test != first, turn, self.seconds[test], test) for one in by_file.values() for turn, test in enumerate(one)
        ]
        asked = [test for *_, test in sorted(turns)]
        return asked if first in asked or "::" not in first else [first, *asked]

    def within(self, tests: Sequence[str], budget: float) -> list[str]:
        """Return the first of the tests, as many as the seconds allow, and at least one."""
        chosen: list[str] = []
        for test in tests:
            budget -= self.seconds.get(test, 1.0)
            if chosen and budget < 0:
                break
            chosen.append(test)
        return chosen


def statement_of(mutant: Mutant) -> int:
    """Return the first line of the innermost statement that holds the change."""
    text = (ROOT / mutant.path).read_text(encoding="utf-8")
    tree, line = ast.parse(text), mutant.found(text)
    spans = [(n.lineno, int(n.end_lineno or 0)) for n in ast.walk(tree) if isinstance(n, ast.stmt)]
    return max(first for first, last in spans if first <= line <= last)
