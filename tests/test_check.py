"""Which tests `make check` asks when a file was changed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests import check
from tests.support.paths import ROOT

#: All but this one, which names files of each kind.
FILES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in sorted((ROOT / "tests").rglob("test_*.py"))
    if path != Path(__file__)
}


@pytest.mark.parametrize(
    ("changed", "test"),
    [
        ("tests/test_imports.py", "tests/test_imports.py"),
        ("rewriter/plan/bounds.py", "tests/rewriter/plan/test_bounds.py"),
        ("runtime/lookup/sparse.py", "tests/runtime/lookup/test_sparse.py"),
        ("migrate/source/tensorflow/rules/gather.py", "tests/migrate/source/test_rules.py"),
        ("runtime/native/store/table.cc", "tests/runtime/native/test_store.py"),
        ("tests/support/source/scripts.py", "tests/migrate/source/tensorflow/facts/training/test_steps.py"),
        ("tests/runtime/native/store/table/table_test.cc", "tests/runtime/native/test_store.py"),
    ],
)
def test_a_test_of_the_file_is_among_the_tests(changed: str, test: str) -> None:
    assert test in check.tests_of([changed], FILES)


@pytest.mark.parametrize(
    ("changed", "folder"),
    [
        ("runtime/table/columns.py", "tests/runtime/"),
        ("runtime/compat/sok/placing.py", "tests/runtime/compat/sok/"),
        ("migrate/cli/graph.py", "tests/migrate/cli/"),
        ("templates/project/run.sh.jinja", "tests/migrate/project/"),
    ],
)
def test_what_no_test_names_is_left_to_the_tests_of_its_folder(changed: str, folder: str) -> None:
    asked = check.tests_of([changed], FILES)
    assert len(asked) > 1 and all(test.startswith(folder) for test in asked)


def test_a_changed_test_comes_first_and_those_that_import_come_last() -> None:
    changed = ["runtime/checkpoint/files.py", "tests/runtime/storage/test_tiers.py"]
    asked = check.tests_of(changed, FILES)
    assert asked[:2] == ["tests/runtime/storage/test_tiers.py", "tests/runtime/checkpoint/test_files.py"]


@pytest.mark.parametrize("name", ["LICENSE", "tests/conftest.py", "tests/files.tsv"])
def test_what_has_no_tests_asks_none(name: str) -> None:
    assert check.tests_of([name], FILES) == []


@pytest.mark.parametrize(("seconds", "code"), [(-1, 1), (600, 0)])
@pytest.mark.one_case
def test_a_run_in_which_no_test_was_run_is_red(seconds: int, code: int, tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text("def test_one():\n    pass\n")
    asked = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "tests.conftest"]
    done = subprocess.run(
        [*asked, f"--within={seconds}", f"--rootdir={tmp_path}", str(tmp_path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == code, done.stdout + done.stderr
    assert ("1 tests were NOT run" in done.stdout) is bool(code)
