"""Writing: atomic, mode kept, links followed, never over a stranger's file; and which files are found."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.files.atomic_write import OutputDirectory, unified_diff, write_atomically
from migrate.source.files.edits import Edit, apply_edits
from migrate.source.project.discovery import find_inputs, framework_of


def test_mode_and_link_stay(tmp_path: Path) -> None:
    file, link = tmp_path / "a.py", tmp_path / "b.py"
    file.write_bytes(b"old")
    file.chmod(0o755)
    link.symlink_to(file)
    write_atomically(link, b"new")
    assert file.read_bytes() == b"new"
    assert link.is_symlink()
    assert stat.S_IMODE(file.stat().st_mode) == 0o755
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.py", "b.py"]


def test_a_failing_write_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.py"
    file.write_bytes(b"old")

    def fail(self: Path, target: Path) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(MigrateError, match="No space left"):
        write_atomically(file, b"new")
    assert file.read_bytes() == b"old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.py"]


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    killed = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from migrate.source.files import atomic_write\n"
        "Path.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "atomic_write.write_files({Path(sys.argv[1]) / 'a.py': b'new', Path(sys.argv[1]) / 'b.py': b'new'})\n"
    )
    (tmp_path / "a.py").write_text("old")
    assert subprocess.run([sys.executable, "-c", killed, str(tmp_path)], check=False).returncode == -9
    assert len(list(tmp_path.iterdir())) == 3
    own = tmp_path / f".c.py.migrate-{os.getpid()}-abcdefgh.tmp"  # of a process that lives
    own.write_text("")
    write_atomically(tmp_path / "a.py", b"next")
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([own.name, "a.py"])
    assert (tmp_path / "a.py").read_text() == "next"


def test_a_file_in_the_way_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "out").write_bytes(b"")
    with pytest.raises(MigrateError, match="cannot be written"):
        write_atomically(tmp_path / "out" / "a.py", b"new")


def test_a_strangers_file_is_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "b.py").write_bytes(b"mine")
    files = {Path("a.py"): b"1", Path("b.py"): b"2"}
    with pytest.raises(MigrateError, match=r"b\.py: was not written by migrate"):
        OutputDirectory(tmp_path, force=False).write(files)
    assert not (tmp_path / "a.py").exists()
    OutputDirectory(tmp_path, force=True).write(files)
    assert (tmp_path / "b.py").read_bytes() == b"2"


def test_own_files_are_overwritten_until_they_are_edited(tmp_path: Path) -> None:
    OutputDirectory(tmp_path, force=False).write({Path("d/a.py"): b"1"})
    OutputDirectory(tmp_path, force=False).write({Path("d/a.py"): b"2"})
    assert (tmp_path / "d" / "a.py").read_bytes() == b"2"
    (tmp_path / "d" / "a.py").write_bytes(b"edited")
    with pytest.raises(MigrateError, match="edited"):
        OutputDirectory(tmp_path, force=False).write({Path("d/a.py"): b"3"})


def test_a_broken_manifest_only_makes_it_careful(tmp_path: Path) -> None:
    OutputDirectory(tmp_path, force=False).write({Path("a.py"): b"1"})
    (tmp_path / ".recmigrate.json").write_text("{")
    with pytest.raises(MigrateError, match="not written by migrate"):
        OutputDirectory(tmp_path, force=False).write({Path("a.py"): b"2"})


def test_a_loop_of_links_ends(tmp_path: Path) -> None:
    (tmp_path / "d").mkdir()
    (tmp_path / "d" / "a.py").write_text("")
    (tmp_path / "d" / "up").symlink_to(tmp_path)
    (tmp_path / "broken.py").symlink_to(tmp_path / "nowhere.py")
    assert [one.path.name for one in find_inputs([str(tmp_path)])] == ["a.py"]


def test_inputs_come_once_and_in_order(tmp_path: Path) -> None:
    for name in ("b.py", "a.py", "c.txt", ".hidden/x.py", "__pycache__/y.py", "sub/z.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    found = find_inputs([str(tmp_path), str(tmp_path / "a.py")])
    assert [item.relative.as_posix() for item in found] == ["a.py", "b.py", "sub/z.py"]


def test_a_missing_path_and_two_files_for_one_place(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="no such file"):
        find_inputs([str(tmp_path / "no.py")])
    for name in ("a/m.py", "b/m.py"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text("")
    with pytest.raises(MigrateError, match="would both be written to"):
        find_inputs([str(tmp_path / "a"), str(tmp_path / "b")])


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("import tensorflow.compat.v1 as tf", "tensorflow"),
        ("from tensorflow import nn", "tensorflow"),
        ("import paddle.nn as nn", "paddle"),
        ("import paddle, tensorflow", "paddle"),
        ("import keras", "tensorflow"),
        ("from keras import layers", "tensorflow"),
        ("import keras_tuner", "other"),
        ("def f():\n    import tensorflow", "tensorflow"),
        ("x = 'import tensorflow'", "other"),
        ("from . import tensorflow", "other"),
        ("tf = __import__('tensorflow')", "tensorflow"),
    ],
)
def test_the_framework_is_found_by_its_imports(text: str, kind: str) -> None:
    assert framework_of(text) == kind


def test_edits_are_made_by_place() -> None:
    assert apply_edits("abcdef", [Edit(4, 5, "E"), Edit(1, 3, "X"), Edit(1, 1, "<")]) == "a<XdEf"
    with pytest.raises(ValueError, match="overlap"):
        apply_edits("abc", [Edit(0, 2, ""), Edit(1, 3, "")])


def test_a_diff_names_a_missing_last_line_end() -> None:
    assert unified_diff("m.py", "a\n", "b") == (
        "--- a/m.py\n+++ b/m.py\n@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n"
    )
    assert unified_diff("m.py", "a\n", "a\n") == ""
