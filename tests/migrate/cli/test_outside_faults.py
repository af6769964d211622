"""What is wrong outside of the command: nowhere to print, nothing to read, missing packages, links elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import command
from tests.support.paths import ROOT

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)
FULL = Path("/dev/full")


def migrate(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run the command in a process of its own, which may read no more than its user may."""
    done = command.migrate([*map(str, arguments)], cwd)
    return subprocess.CompletedProcess([*map(str, arguments)], done.code, done.out, done.err)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """A directory with a convertible file, and a directory with another one."""
    (tmp_path / "src" / "sub").mkdir(parents=True)
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "sub" / "inner.py").write_text(GOOD)
    return tmp_path


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("arguments", ["check src", "convert src --diff", "rules list", "--help"])
@pytest.mark.one_case
def test_an_output_that_is_full_is_said_in_one_sentence(work: Path, arguments: str) -> None:
    program = [sys.executable, "-m", "migrate", *arguments.split()]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    with FULL.open("w") as full:
        done = subprocess.run(program, cwd=work, env=environment, stdout=full, stderr=subprocess.PIPE, text=True)
        silent = subprocess.run(program, cwd=work, env=environment, stdout=full, stderr=full)
    assert (done.returncode, silent.returncode) == (2, 2)
    assert done.stderr == (
        "migrate: the output cannot be written (No space left on device); free some space or redirect the output\n"
    )


def test_in_place_changes_nothing_outside_of_the_directory(work: Path) -> None:
    outside = work / "elsewhere.py"
    outside.write_text(GOOD)
    (work / "src" / "link.py").symlink_to(outside)
    done = migrate("convert", "src", "--in-place", cwd=work)
    assert done.returncode == 0, done.stderr
    note = (
        f"a link out of the given directory, not followed: it leads to {outside}; give that path, too, if it is to be"
    )
    assert note in done.stderr
    assert outside.read_text() == GOOD != (work / "src" / "good.py").read_text()
    done = migrate("convert", "src", "elsewhere.py", "--in-place", cwd=work)
    assert done.returncode == 0 and "not followed" not in done.stderr
    assert "sparse_lookup" in outside.read_text()
