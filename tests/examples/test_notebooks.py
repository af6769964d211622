"""The notebooks run from their first cell to the last, and print what they promise."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

FOLDER = ROOT / "examples" / "notebooks"
#: Notebook -> what its cells print.
PRINTS = {
    "keras_tables": ("losses fall: True", "their predictions rise: True"),
    "a_program_as_it_is": ("losses fall: True", "1 table", "`users` can grow"),
    "convert_and_prove": ("+users = create_table(", "1 table converted", "the converted model computes the same"),
}


def test_all_notebooks_are_run() -> None:
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == PRINTS.keys()


@pytest.mark.one_version
@pytest.mark.each_case
@pytest.mark.parametrize("name", PRINTS)
def test_a_notebook_runs(name: str, tmp_path: Path) -> None:
    cells = json.loads((FOLDER / f"{name}.ipynb").read_text(encoding="utf-8"))["cells"]
    code = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    assert not any(cell.get("outputs") for cell in cells)
    (tmp_path / "notebook.py").write_text("\n\n".join(code) + "\n")
    done = forking.run("notebook.py", cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert [text for text in PRINTS[name] if text not in said] == [], said
