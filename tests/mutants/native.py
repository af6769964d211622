"""Small changes of the C++ engine, each compiled into the engine's own tests: do these notice?

    python -m tests.mutants.native sample 60 1    draw the sample, native_sample.tsv: what is left of it, and new ones
    python -m tests.mutants.native run            try each; native_results.tsv, unless one lives that was killed

Tests in Python are not asked: what only they would notice counts as alive. native_survivors.tsv has the reason why each
that is alive is left.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support import sanitized
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "mutants"
SAMPLE, RESULTS = HERE / "native_sample.tsv", HERE / "native_results.tsv"
SURVIVORS = HERE / "native_survivors.tsv"
HEAD = ("path", "line", "text", "before", "after")
_SECONDS = 120
_CHANGES = {
    " < ": " <= ",
    " > ": " >= ",
    " <= ": " < ",
    " >= ": " > ",
    " == ": " != ",
    " != ": " == ",
    " && ": " || ",
    " || ": " && ",
    " + 1": " + 2",
    " - 1": "",
    "return true": "return false",
    "return false": "return true",
    "++": "--",
    "(!": "(",
}
#: Comments, includes, templates and loops over all of something: changes there are no bugs, or do not end.
_LEFT_OUT = re.compile(r"//|^\s*#|template|static_assert|\bfor \(")


def sites() -> Iterator[tuple[str, ...]]:
    """Yield every change that could be made."""
    for path in sorted((ROOT / "runtime" / "native" / "store").rglob("*.cc")):
        for number, text in enumerate(path.read_text("utf-8").splitlines(), 1):
            plain = re.sub(r'"[^"]*"', lambda found: " " * len(found.group()), text)
            if _LEFT_OUT.search(plain):
                continue
            for before, after in _CHANGES.items():
                if plain.count(before) == 1:
                    yield str(path.relative_to(ROOT)), f"{number:04}", text.strip(), before, after


def applied(row: Sequence[str]) -> str:
    """Return the text of the changed file; the line is found again by its text.

    Raises:
        LookupError: the line is gone.
    """
    path, number, text, before, after = row
    lines = (ROOT / path).read_text("utf-8").splitlines()
    places = [at for at, line in enumerate(lines) if line.strip() == text]
    if not places:
        raise LookupError(f"{path}:{number} is gone: `python -m tests.mutants.native sample` draws another")
    at = min(places, key=lambda place: abs(place + 1 - int(number)))
    head, _, tail = lines[at].rpartition(before)
    lines[at] = head + after + tail
    return "\n".join(lines) + "\n"


def drawn(count: int, seed: int) -> list[tuple[str, ...]]:
    """Return a sample: the rows of the last one whose lines are still there, which keep their reasons, and new ones."""
    gone = {row for row, _ in _gone(_read(SAMPLE))}
    kept = [row for row in _read(SAMPLE) if row not in gone][:count]
    places = {(row[0], *row[2:]) for row in kept}
    fresh = [site for site in sites() if (site[0], *site[2:]) not in places]
    return sorted(kept + random.Random(seed).sample(fresh, count - len(kept)))


def _gone(rows: Sequence[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], LookupError]]:
    for row in rows:
        try:
            applied(row)
        except LookupError as error:
            yield row, error


def tried(row: Sequence[str], engine: dict[str, Path], tests: Path) -> str:
    """Return "killed", "alive", or "not compiled" for a change that is no program."""
    with tempfile.TemporaryDirectory(dir=sanitized.setup().OBJECTS) as folder:
        source = Path(folder) / Path(row[0]).name
        source.write_text(applied(row))
        program = Path(folder) / "program"
        objects = {**engine, row[0]: Path(folder) / "changed.o"}
        compile_it = [*sanitized.setup().command(), "-w", "-c", str(source), "-o", str(objects[row[0]])]
        if subprocess.run(compile_it, stderr=subprocess.DEVNULL).returncode:
            return "not compiled"
        link = [*sanitized.setup().compiler().split(), "-pthread", *map(str, objects.values()), str(tests)]
        subprocess.run([*link, "-o", str(program)], check=True)
        environment = {**os.environ, **sanitized.leveldb()}
        try:
            done = subprocess.run([program], capture_output=True, timeout=_SECONDS, env=environment)
        except subprocess.TimeoutExpired:
            return "killed"
        return "killed" if done.returncode else "alive"


def main(arguments: Sequence[str]) -> int:
    """Draw the sample, or run it."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutants.native")
    commands = parser.add_subparsers(dest="command", required=True)
    sample = commands.add_parser("sample")
    sample.add_argument("count", type=int)
    sample.add_argument("seed", type=int)
    commands.add_parser("run")
    options = parser.parse_args(arguments)
    if options.command == "sample":
        _write(SAMPLE, [HEAD, *drawn(options.count, options.seed)])
        return 0
    rows = _read(SAMPLE)
    gone = [str(error) for _, error in _gone(rows)]
    if gone:  # before minutes of compiling
        sys.exit("\n".join(gone))
    engine, tests = sanitized.objects()
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        outcomes = list(pool.map(lambda row: tried(row, engine, tests), rows))
    before = {row[:5] for row in _read(RESULTS) if row[5] == "killed"}
    found = [(*row, outcome) for row, outcome in zip(rows, outcomes, strict=True)]
    escaped = [row for row in found if row[:5] in before and row[5] != "killed"]
    for row in escaped:
        print(f"no longer killed: {row[0]}:{row[1]} {row[3]!r} -> {row[4]!r}")
    reasons = {row[:5]: row[-1] for row in _read(SURVIVORS)}
    unexplained = [row for row in found if row[5] == "alive" and not reasons.get(row[:5])]
    for row in unexplained:
        print(f"alive, and {SURVIVORS.name} has no reason: {row[0]}:{row[1]} {row[3]!r} -> {row[4]!r}")
    if not escaped:
        _write(RESULTS, [(*HEAD, "outcome"), *found])
    print({name: outcomes.count(name) for name in sorted(set(outcomes))})
    return 1 if escaped or unexplained else 0


def _read(path: Path) -> list[tuple[str, ...]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [tuple(row) for row in csv.reader(file, delimiter="\t")][1:]


def _write(path: Path, rows: Sequence[tuple[str, ...]]) -> None:
    with path.open("w", newline="") as file:
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
