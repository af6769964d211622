"""Tests lie as the packages do, and no test file imports another (CONTRIBUTING.md, "where things go")."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.paths import ROOT

TESTS = ROOT / "tests"
PACKAGES = ("migrate", "rewriter", "runtime")
#: Modules in one folder.
MOST = 25


def test_each_folder_of_tests_has_its_subject() -> None:
    folders = {file.parent.relative_to(TESTS) for package in PACKAGES for file in (TESTS / package).rglob("test_*.py")}
    without = {str(folder) for folder in folders if not _is_there(ROOT / folder)}
    assert not without, f"tests without a folder or module of their name: {sorted(without)}"


def test_no_folder_is_a_heap() -> None:
    """What is more than this is several subjects, and needs rooms; rules are one a file."""
    counts = Counter(file.parent.relative_to(ROOT) for package in PACKAGES for file in (ROOT / package).rglob("*.py"))
    heaps = {str(folder): count for folder, count in counts.items() if count > MOST and folder.name != "rules"}
    assert not heaps, f"folders with more than {MOST} modules: {heaps}"


def test_no_test_file_imports_another() -> None:
    """What several need is in `tests/support` or a `conftest.py`."""
    files = sorted(TESTS.rglob("*.py"))
    found = [f"{file.relative_to(ROOT)} imports {name}" for file in files for name in _test_files(file.read_text())]
    assert not found, "\n".join(found)


@pytest.mark.parametrize(
    "text",
    [
        "import tests.test_imports",
        "from tests.test_imports import LOADING",
        "from tests import (\n    conftest,\n    test_imports,\n)",
        "def late():\n    from tests import test_imports",
    ],
)
def test_an_import_of_a_test_file_is_found(text: str) -> None:
    assert "tests.test_imports" in set(_test_files(text))


def _is_there(subject: Path) -> bool:
    return subject.with_suffix(".py").is_file() or any(subject.glob("*.py"))


def _test_files(text: str) -> Iterator[str]:
    """Yield the test files that a module imports, by their dotted names."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            *folders, last = name.split(".")
            file = ROOT.joinpath(*folders, f"{last}.py")
            if folders[:1] == ["tests"] and (last == "conftest" or last.startswith("test_")) and file.is_file():
                yield name
