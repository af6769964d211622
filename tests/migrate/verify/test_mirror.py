"""The folder in which a compared program runs: it finds its files, and leaves nothing in the user's folder."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from migrate.verify import mirror
from tests.support import forking

PROGRAM = """
import os
import tensorflow.compat.v1 as tf
from beside import SIZE
tf.disable_eager_execution()
ids = tf.placeholder(tf.int64, [None])
W = tf.get_variable("user", [SIZE, 4], initializer=tf.random_normal_initializer(seed=1))
loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(W, ids) - 1.))
op = tf.train.AdagradOptimizer(0.1).minimize(loss)
assert open("../shared/vocabulary.txt").read() == "words"
os.makedirs("logs")
open("kept.txt", "a").write("more")
open("data/cache", "w").write("new")
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    tf.summary.FileWriter("board", session.graph).close()
    for turn in range(14):
        session.run(op, {ids: [turn, 1, 2]})
"""


@pytest.fixture
def back() -> Iterator[None]:
    """Return to the working directory after the test."""
    here = Path.cwd()
    yield
    os.chdir(here)


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder with their contents, and its directories."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_program_finds_its_files_and_changes_none(
    tmp_path: Path, back: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    (home / "project" / "data" / "deep").mkdir(parents=True)
    scratch.mkdir()
    (home / "project" / "small").write_text("small")
    (home / "project" / "data" / "deep" / "large").write_bytes(b"x" * (mirror.SMALL + 1))
    (home / "beside").write_text("beside")
    before = everything(home)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    mirror.enter(str(home / "project"))
    assert Path.cwd().is_relative_to(scratch)
    assert Path("small").read_text() == "small"
    assert Path("data/deep/large").stat().st_size == mirror.SMALL + 1
    assert Path("../beside").read_text() == "beside"
    Path("small").write_text("changed")
    Path("data/deep/new").write_text("new")
    Path("../new").write_text("new")
    assert everything(home) == before


def test_what_is_too_much_is_a_link(tmp_path: Path, back: None, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b/c"):
        (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "home" / "b" / "c" / "file").write_text("far")
    monkeypatch.setattr(mirror, "MOST", 2)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    mirror.enter(str(tmp_path / "home"))
    assert Path("b").is_dir() and not Path("b").is_symlink()
    assert Path("b/c").is_symlink()
    assert Path("b/c/file").read_text() == "far"


def test_verify_leaves_nothing_in_the_folder(tmp_path: Path) -> None:
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "vocabulary.txt").write_text("words")
    (work / "model.py").write_text(PROGRAM)
    (work / "beside.py").write_text("SIZE = 20\n")
    (work / "kept.txt").write_text("as it was")
    converted = forking.run("-m", "migrate", "convert", "model.py", "--assume", "-q", cwd=work)
    assert converted.returncode == 0, converted.stderr
    before = everything(tmp_path)
    done = forking.run("-m", "migrate", "verify", "model.py", "migrated/model.py", cwd=work)
    assert " tensors equal" in done.stdout, done.stderr
    assert everything(tmp_path) == before
