"""The files of a program, and what is said of a converted one that makes no table."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest

from migrate.verify.program_files import no_table

FILES = {
    "main.py": "from models import kept",
    "models/kept.py": "K = 1",
    "models/moved.py": "M = 1",
    "models/new.py": "",
}


@pytest.mark.parametrize("imported", [False, True])
def test_a_run_that_trains_nothing_converted_is_told_which_files_it_left_aside(
    imported: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original, converted = tmp_path / "original", tmp_path / "out"
    for folder in (original, converted):
        for name, text in FILES.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text if folder == original or "kept" in name or name == "main.py" else "T = 1")
    module = types.ModuleType("models.moved")
    module.__file__ = str(converted / "models/moved.py")
    monkeypatch.setitem(sys.modules, "models.moved", module if imported else types.ModuleType("models.moved"))
    said = str(no_table(str(converted / "main.py"), str(original), ["--model", "kept"]))
    assert "creates no table in this run with the arguments `--model kept`" in said
    listed = "imported: models/moved.py; not imported: models/new.py" if imported else "not imported: models/moved.py, "
    assert f"of a converted file ({listed}" in said
    assert "arguments after `--` by which it trains one" in said


def test_what_was_not_converted_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "main.py").write_text("M = 1")
    said = str(no_table(str(tmp_path / "main.py"), str(tmp_path), []))
    assert said.endswith("creates no table, so it is not a converted program; convert the file first")
