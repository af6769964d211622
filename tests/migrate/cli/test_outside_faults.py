"""What is wrong outside of the command: nowhere to print, nothing to read, missing packages, links elsewhere."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.support import command

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)


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
