"""The inner loop, `make check`: ruff, clang-format, mypy and the tests that read all files, then the tests of what was
changed, all within a minute.

What was changed is what git says: not committed and new files, else the last commit, `--since REV` all since then.
Tests are asked in this order until their time is up: test files that were changed themselves, those that mirror a
changed module (`a/b.py`: `tests/a/test_b*.py`) or are known to notice a change of it, those that import it or name the
file, and where there are none, those of its folder, the quickest first.
"""

from __future__ import annotations

import argparse
import csv
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tests.support.paths import ROOT

#: What each test file takes, by `python -m tests.mutants files`; one that is not in it is taken to be quick.
FILES = ROOT / "tests" / "files.tsv"
#: Changes of modules, and the test that noticed each.
NOTICED = ROOT / "tests" / "mutants" / "results.tsv"
_UNKNOWN = 3.0
#: Tests that read all files, for what any change may break; they take seconds.
_OF_ALL = ("tests/test_names.py", "tests/test_layout.py", "tests/docs/test_style.py", "tests/docs/test_verdicts.py")
_CPP = (".cc", ".h")
#: Files that all tests depend on: they are no reason to run each one.
_EVERYONES = ("tests/conftest.py", "tests/__init__.py", "setup.cfg")
#: Folders whose tests lie in another one.
_ELSEWHERE = {"templates/project/": "migrate/project/", "templates/": "migrate/report/"}


def main(arguments: Sequence[str]) -> int:
    """Check what was changed; return 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="make check", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--since", metavar="REV", help="what was changed since this commit; otherwise what is not committed"
    )
    parser.add_argument(
        "--seconds", type=float, default=40.0, help="tests begin within this time of the first (default: %(default)s)"
    )
    parser.add_argument("--list", action="store_true", help="print the files of tests that would be asked, and end")
    options = parser.parse_args(arguments)
    names = changed(options.since)
    chosen = tests_of(names, _test_files())
    if options.list:
        print(*chosen, sep="\n")
        return 0
    print(f"==> {len(names)} changed: {', '.join(names[:6])}{' ...' if len(names) > 6 else ''}", flush=True)
    failed = [one for one in _static(names) if _run(one)]
    return 1 if _tests(chosen, options.seconds) or failed else 0


def changed(since: str | None) -> list[str]:
    """Return the paths of files that were changed and are there."""
    names = _git("diff", "--name-only", since or "HEAD")
    names += _git("ls-files", "--others", "--exclude-standard")
    if not names and since is None:
        names = _git("diff", "--name-only", "HEAD~1", "HEAD")
    return sorted(name for name in set(names) if (ROOT / name).is_file())


def tests_of(names: Iterable[str], files: dict[str, str]) -> list[str]:
    """Return the test files for changed files, those that most likely fail first.

    Args:
        names: Changed files.
        files: The text of each test file, by its path.
    """
    names = [name for name in names if name not in _EVERYONES]
    seconds, noticed = _seconds(), _noticed()
    ranks: dict[str, int] = {}
    for name in names:
        found: dict[str, int] = {}
        for test, text in files.items():
            rank = 0 if test == name else 1 if mirrors(test, name) else 2 if _mentions(text, name) else None
            if rank is not None:
                found[test] = rank
        found = found or dict.fromkeys(_beside(name, files), 3)
        found |= {test: min(1, found.get(test, 1)) for test in noticed[name] & files.keys()}
        for test, rank in found.items():
            ranks[test] = min(rank, ranks.get(test, rank))
    return sorted(ranks, key=lambda test: (ranks[test], seconds.get(test, _UNKNOWN), test))


def mirrors(test: str, name: str) -> bool:
    """Return whether a test file is where the test of a file is looked for first."""
    path, at = PurePosixPath(name), PurePosixPath(test)
    if path.suffix in _CPP:
        return test.startswith("tests/runtime/native/")
    if path.parts[0] == "tests":  # data beside its test, or below it
        return path.suffix != ".py" and at.parent in path.parents and len(at.parts) > 2
    # `a/b/c.py` is tested by `tests/a/b/test_c*.py`, or by that in a folder below, where tests of several modules are
    # sorted by their subject; a folder of files of one kind also by `tests/a/test_b.py`, or that of the folder above.
    stem = path.parent.name if path.stem == "__init__" else path.stem
    folders = [PurePosixPath("tests", *parent.parts) for parent in path.parents[:-1]]
    named = at.stem == f"test_{stem}" or at.stem.startswith(f"test_{stem}_")
    own = named and (at.parent in folders[:2] or at.parent.parent in folders[:1])
    kinds = [near.with_name(f"test_{folder.name}.py") for folder in folders for near in (folder, folder.parent)]
    return own or at in kinds


def _beside(name: str, files: Iterable[str]) -> list[str]:
    """Return the tests of the nearest folder that has any, for code that no test names: others lead to it."""
    for folder, other in _ELSEWHERE.items():
        if name.startswith(folder):
            name = other + name[len(folder) :]
    if PurePosixPath(name).suffix not in (".py", ".jinja", ".yaml") or name.startswith("tests/"):
        return []
    for parent in PurePosixPath(name).parents[:-1]:
        found = [test for test in files if test.startswith(f"tests/{parent}/")]
        if found:
            return found
    return []


def _mentions(text: str, name: str) -> bool:
    path = PurePosixPath(name)
    if path.suffix in _CPP:
        return "librecmigrate" in text or "runtime.native" in text
    if path.suffix != ".py":
        return path.suffix != ".tsv" and re.search(rf"\b{re.escape(path.name)}\b", text) is not None
    parts = path.with_suffix("").parts
    dotted = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    package, _, module = dotted.rpartition(".")
    imported = rf"(^|\n)\s*(from {re.escape(dotted)} import|import {re.escape(dotted)}\b"
    if package:
        imported += rf"|from {re.escape(package)} import [^\n]*\b{module}\b"
    return re.search(imported + ")", text) is not None


def _static(names: Sequence[str]) -> Iterable[Sequence[str]]:
    python = [name for name in names if name.endswith(".py")]
    if python:
        yield ("ruff", "check", "--quiet", "--force-exclude", *python)
        yield ("ruff", "format", "--check", "--quiet", "--force-exclude", *python)
        yield ("mypy", "--no-error-summary")
    native = [name for name in names if name.endswith(_CPP)]
    if native:
        yield ("clang-format", "--dry-run", "-Werror", *native)
    yield ("pytest", "--quiet", *_OF_ALL)


def _tests(files: Sequence[str], seconds: float) -> int:
    known = _seconds()
    asked: list[str] = []
    room = 2.5 * seconds
    for file in files:
        if asked and room < 0:
            break
        asked.append(file)
        room -= known.get(file, _UNKNOWN)
    if not asked:
        print("==> no test names what was changed", flush=True)
        return 0
    rest = f"; {len(files) - len(asked)} more are left to `make test`" if len(files) > len(asked) else ""
    print(
        f"==> tests of {len(asked)} files: {', '.join(asked[:4])}{' ...' if len(asked) > 4 else ''}{rest}", flush=True
    )
    several = len(asked) > 1
    spread = ["--numprocesses=auto", "--maxprocesses=4", "--dist=loadfile", "--no-loadscope-reorder"] if several else []
    code = _run(["pytest", "--most=2", f"--within={seconds:.0f}", *spread, *asked])
    if code == 5:
        print("==> none of these tests was run: they are left to `make soak`", flush=True)
        return 0
    return code


def _run(command: Sequence[str]) -> int:
    print(f"==> {' '.join(command[:2])}", flush=True)
    return subprocess.run([Path(sys.executable).with_name(command[0]), *command[1:]], cwd=ROOT).returncode


def _test_files() -> dict[str, str]:
    paths = [
        path for path in _git("ls-files", "--cached", "--others", "--exclude-standard", "tests") if "/test_" in path
    ]
    return {
        path: (ROOT / path).read_text("utf-8") for path in paths if path.endswith(".py") and (ROOT / path).is_file()
    }


def _seconds() -> dict[str, float]:
    if not FILES.exists():
        return {}
    with FILES.open(newline="") as file:
        return {row["file"]: float(row["seconds"]) for row in csv.DictReader(file, delimiter="\t")}


def _noticed() -> dict[str, set[str]]:
    """Return the test files that noticed a change of each module."""
    found: dict[str, set[str]] = defaultdict(set)
    if NOTICED.exists():
        with NOTICED.open(newline="") as file:
            for row in csv.DictReader(file, delimiter="\t"):
                found[row["path"]].add(row["killed by"].partition("::")[0])
    return found


def _git(*arguments: str) -> list[str]:
    found = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    if found.returncode:
        sys.exit(f"git {' '.join(arguments)}: {found.stderr.strip()}")
    return [str(Path(name)) for name in found.stdout.splitlines() if name]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
