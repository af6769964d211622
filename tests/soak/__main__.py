"""What is slow and seldom finds anything, run before a release: `make soak`, or `python -m tests.soak PART...`.

Each part writes its line of results.tsv: when it last passed, where, how long it took, and a digest of what it tests.
`--unless-passed` leaves out a part that has passed on the same files: CI runs the sanitizers and Horovod's tests by it.
`--times 10` gives `fuzz` ten times its inputs, and its line says so.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import hashlib
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.paths import ROOT

RESULTS = ROOT / "tests" / "soak" / "results.tsv"
HEAD = ("part", "digest", "date", "minutes", "cores", "what was run")
_PYTHON = sys.executable
_PYTEST = (
    _PYTHON,
    "-m",
    "pytest",
    "-q",
    "--optimize-graphs",
    "--numprocesses=auto",
    "--maxprocesses=4",
    "--dist=loadfile",
    "--max-worker-restart=0",
)
_NATIVE = ("runtime/native", "setup.py", "tests/runtime/native/store", "tests/support/sanitized.py")
#: Tests that Horovod takes part in where it is installed.
_HOROVOD = (
    "tests/runtime/compat/sok/test_layers_ranks.py",
    "tests/runtime/ranks/test_faults.py",
    "tests/runtime/ranks/test_horovod.py",
    "tests/runtime/ranks/test_keras_ranks.py",
)
_ALL = ("migrate", "rewriter", "runtime", "tests")


@dataclass(frozen=True)
class Part:
    """A part: what it says that it runs, commands, and the files that it depends on."""

    what: str
    commands: Sequence[Sequence[str]]
    files: Sequence[str] = _ALL
    #: How many inputs are drawn, by the environment variable that says so.
    inputs: dict[str, int] = field(default_factory=dict)


PARTS = {
    "sanitizers": Part(
        "C++ tests under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer",
        [(_PYTHON, "-m", "pytest", "-q", "--soak", "-p", "no:xdist", "tests/runtime/native/test_store.py")],
        _NATIVE,
    ),
    "tidy": Part(
        "clang-tidy over the native library; `make tidy` installs it",
        [(_PYTHON, "-m", "tests.soak.tidy")],
        ("runtime/native", ".clang-tidy", "tests/soak/tidy.py"),
    ),
    "horovod": Part(
        "Horovod built from its sources, and the tests that it takes part in",
        [("make", "horovod"), (*_PYTEST, *_HOROVOD)],
        ("runtime", "constraints", "setup.py", "tests/support/ranks", *_HOROVOD),
    ),
    "slow": Part(
        "the other tests that are marked soak: faults of ranks, kill loops, benchmarks",
        [(*_PYTEST, "--soak", "--deselect", "tests/runtime/native/test_store.py", "tests")],
    ),
    "cases": Part(
        "each combination of the parameters of all tests",
        [(*_PYTEST, "--every-case", "tests")],
    ),
    "paddle": Part(
        "1,000 mutated Paddle models: refused with a finding, or equal to Paddle",
        [(_PYTHON, "-m", "tests.soak.paddle_mutants", "--count", "1000")],
    ),
    "fuzz": Part(
        "mutated sources and random sequences of operations, ten times as many as in `make test` and more",
        [
            (
                *_PYTEST,
                "--hypothesis-profile=long",
                "tests/migrate/source/test_fuzz.py",
                "tests/property",
            )
        ],
        inputs={"MIGRATE_FUZZ": 400},
    ),
    "tiers": Part("storage, policies, compaction and optimizers", [(_PYTHON, "-m", "tests.soak.tiers_matrix", "1000")]),
    "rec_sdk": Part("all switches of Rec SDK", [(_PYTHON, "-m", "tests.soak.rec_sdk_matrix")]),
    "sok": Part("1 to 4 ranks of SparseOperationKit", [(_PYTHON, "-m", "tests.soak.sok_matrix")]),
    "clusters": Part(
        "100 kills of random tasks of a cluster at random times", [(_PYTHON, "-m", "tests.soak.cluster_kills", "100")]
    ),
    "projects": Part("all switches of projects", [(_PYTHON, "-m", "tests.soak.projects_matrix")]),
}


def main(arguments: Sequence[str]) -> int:
    """Run parts; return 1 where one fails."""
    parser = argparse.ArgumentParser(prog="python -m tests.soak")
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--unless-passed", action="store_true", help="leave out what has passed on the same files")
    parser.add_argument("--times", type=int, default=1, metavar="N", help="draw N times the inputs of fuzz")
    options = parser.parse_args(arguments)
    if options.times < 1:
        parser.error(f"--times {options.times} draws nothing: give 1 or more")
    unknown = [name for name in options.parts if name not in PARTS]
    if unknown:
        parser.error(f"no part is called {unknown[0]}: give one of {', '.join(PARTS)}")
    failed = []
    for name in options.parts or PARTS:
        part, digest = PARTS[name], digest_of(PARTS[name].files)
        passed = results().get(name)
        if options.unless_passed and passed and passed["digest"] == digest:
            print(f"==> soak: {name} passed on the same files on {passed['date']}", flush=True)
            continue
        print(f"==> soak: {name}: {part.what}", flush=True)
        began = time.monotonic()
        inputs = {variable: str(count * options.times) for variable, count in part.inputs.items()}
        environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "2", **inputs}
        codes = [subprocess.run(one, cwd=ROOT, env=environment).returncode for one in part.commands]
        if any(codes):
            failed.append(name)
        else:
            what = part.what + (f", {options.times} times that" if inputs and options.times > 1 else "")
            write(name, digest, (time.monotonic() - began) / 60, what)
    print(f"==> soak: failed: {', '.join(failed)}" if failed else "==> soak: all passed", flush=True)
    return 1 if failed else 0


def digest_of(files: Sequence[str]) -> str:
    """Return a digest of the tracked files below these paths, by their names and contents."""
    listed = subprocess.run(["git", "ls-files", "-z", "--", *files], cwd=ROOT, capture_output=True, check=True).stdout
    whole = hashlib.sha256()
    for name in sorted(listed.decode().split("\0")[:-1]):
        path = ROOT / name
        if path != RESULTS and path.is_file():
            whole.update(name.encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest())
    return whole.hexdigest()[:16]


def results() -> dict[str, dict[str, str]]:
    """Return the line of each part that has passed."""
    if not RESULTS.exists():
        return {}
    with RESULTS.open(newline="") as file:
        return {row["part"]: row for row in csv.DictReader(file, delimiter="\t")}


def write(name: str, digest: str, minutes: float, what: str) -> None:
    """Put a part's line into the table."""
    rows = results()
    date = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d")
    values = (name, digest, date, f"{minutes:.1f}", f"{os.cpu_count()} {platform.machine()}", what)
    rows[name] = dict(zip(HEAD, values, strict=True))
    text = Path(f"{RESULTS}.new")
    with text.open("w", newline="") as file:
        writer = csv.DictWriter(file, HEAD, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows[part] for part in PARTS if part in rows)
    text.replace(RESULTS)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
