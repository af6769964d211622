"""What the tutorials show is what happens: files and commands are taken from the pages, and run in their order.

A block with a title is the file of that name, `sh` holds commands, and a block `output` lines that they print. A
command that does not end with 0 says so: `migrate check model.py  # exit code 1`.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

PAGES = sorted(page for page in (ROOT / "docs" / "tutorials").glob("*.md") if page.stem != "index")
_BLOCK = re.compile(r'^```(\w+)(?: title="([^"]+)")?\n(.*?)^```$', re.DOTALL | re.MULTILINE)
_EXIT = re.compile(r"(.*?)  # exit code (\d+)")
#: Pages whose commands other tests run, too, on programs of their own.
_SELDOM = [pytest.mark.soak]
#: Major version of the Keras that is installed; TensorFlow is not imported, as tutorials run in other processes.
_KERAS = int(version("keras").split(".")[0])
_HOME = [pytest.mark.one_version]
_MARKS = {
    "paddle": [pytest.mark.paddle, *_HOME, *_SELDOM],
    **{page: [*_HOME, *_SELDOM] for page in ("trial", "evidence", "serving", "unbucket", "repository", "cluster")},
    "keras_3": [pytest.mark.skipif(_KERAS < 3, reason="TensorFlow 2.15 has Keras 2: make test-tf221")],
}


@pytest.mark.parametrize(
    "page", [pytest.param(page, marks=_MARKS.get(page.stem, _HOME), id=page.stem) for page in PAGES]
)
def test_a_tutorial_does_what_it_says(page: Path, tmp_path: Path) -> None:
    said = ""
    for kind, title, text in _BLOCK.findall(page.read_text(encoding="utf-8")):
        if title == "output":
            missing = [line for line in text.splitlines() if line not in said]
            assert not missing, f"{page.name} says {missing}, printed was:\n{said}"
        elif title:
            (tmp_path / title).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / title).write_text(text)
        elif kind == "sh":
            said = "".join(_run(command, tmp_path) for command in text.splitlines())


def _run(command: str, folder: Path) -> str:
    """Run a line of a shell, `migrate ...`, `python FILE` or `cp -r A B`, after `cd FOLDER && `; return its output."""
    told = _EXIT.fullmatch(command)
    line, expected = (told[1], int(told[2])) if told else (command, 0)
    before, _, last = line.rpartition(" && ")
    folder /= before.removeprefix("cd ")
    program, *arguments = shlex.split(last)
    if program == "cp":
        shutil.copytree(folder / arguments[1], folder / arguments[2])
        return ""
    given = ["-m", "migrate", *arguments] if program == "migrate" else arguments
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # `migrate trace -- python` is this Python
    done = forking.run(*given, cwd=folder, env={**os.environ, "PYTHONPATH": str(ROOT), "PATH": path})
    assert done.returncode == expected, f"`{command}` ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr
