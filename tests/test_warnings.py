"""Python warns of nothing in our files when it compiles them, such as of an unknown escape in a string.

What they warn of when they run is a failure by `filterwarnings` in setup.cfg; these warnings come once, before there is
a `__pycache__`, and under the name of a file.
"""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

from tests.support.paths import ROOT

FOLDERS = ("migrate", "rewriter", "runtime", "benchmarks", "tests/support")


def test_all_files_compile_without_a_warning() -> None:
    files = [path for folder in FOLDERS for path in sorted((ROOT / folder).rglob("*.py"))]
    assert len(files) > 600
    for file in files:
        _compile(file.read_bytes(), file)


@pytest.mark.parametrize("text", [rb"'\d'", b"1 is 1", b"(1)(2)"])
def test_a_warning_is_raised(text: bytes) -> None:
    with pytest.raises(SyntaxError):
        _compile(text, Path("file.py"))


def _compile(text: bytes, file: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        compile(text, file, "exec", dont_inherit=True)
