"""The folder in which a compared program runs: it finds its files, and leaves nothing in the user's folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.verify import working_copy


def everything(folder: Path) -> dict[str, bytes]:
    """Return the files below a folder with their contents, and its directories."""
    return {str(path): path.read_bytes() if path.is_file() else b"" for path in folder.rglob("*")}


def test_a_program_finds_its_files_and_changes_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home, scratch = tmp_path / "home", tmp_path / "scratch"
    (home / "project" / "data" / "deep").mkdir(parents=True)
    scratch.mkdir()
    (home / "project" / "small").write_text("small")
    (home / "project" / "data" / "deep" / "large").write_bytes(b"x" * (working_copy.SMALL + 1))
    (home / "beside").write_text("beside")
    before = everything(home)
    monkeypatch.setattr("tempfile.tempdir", str(scratch))
    working_copy.enter(str(home / "project"))
    assert Path.cwd().is_relative_to(scratch)
    assert Path("small").read_text() == "small"
    assert Path("data/deep/large").stat().st_size == working_copy.SMALL + 1
    assert Path("../beside").read_text() == "beside"
    Path("small").write_text("changed")
    Path("data/deep/new").write_text("new")
    Path("../new").write_text("new")
    assert everything(home) == before


def test_what_is_too_much_is_a_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b/c"):
        (tmp_path / "home" / name).mkdir(parents=True)
    (tmp_path / "home" / "b" / "c" / "file").write_text("far")
    monkeypatch.setattr(working_copy, "MOST", 2)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    working_copy.enter(str(tmp_path / "home"))
    assert Path("b").is_dir() and not Path("b").is_symlink()
    assert Path("b/c").is_symlink()
    assert Path("b/c/file").read_text() == "far"
