"""`migrate revert`: byte for byte, all files or none, and never over changes made since."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from migrate.cli.main import cli
from migrate.errors import MigrateError
from migrate.source.files import revert
from migrate.source.files.atomic_write import unified_diff
from migrate.source.files.journal import PLACE, Journal, bytes_of, text_of
from migrate.source.files.revert import RegionChanged, undo
from tests.support.command import GOOD

ODD = {
    "plain.py": GOOD.encode(),
    "crlf.py": b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode(),
    "latin.py": b"# -*- coding: latin-1 -*-\n# caf\xe9\n" + GOOD[:-1].encode(),
}


@pytest.fixture
def work(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with files in several spellings; its root is the working directory."""
    (tmp_path / "src").mkdir()
    for name, data in ODD.items():
        (tmp_path / "src" / name).write_bytes(data)
    (tmp_path / "setup.cfg").write_text("")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def migrate(*arguments: str) -> int:
    """Run the command in this process; returns its exit code."""
    try:
        cli.main(list(arguments), standalone_mode=False)
    except SystemExit as done:
        return int(done.code or 0)
    return 0


def contents(root: Path) -> dict[str, bytes]:
    return {p.relative_to(root).as_posix(): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_in_place_and_back(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(work)
    assert migrate("convert", "src", "--in-place") == 0
    assert capsys.readouterr().err.endswith("\nundo: migrate revert src\n")
    assert all(b"create_table(" in (work / "src" / name).read_bytes() for name in ODD)
    text = (work / PLACE).read_text()
    assert str(work) not in text
    assert {e["path"] for e in json.loads(text)["edits"]} == {f"src/{name}" for name in ODD}
    assert migrate("revert") == 0
    assert contents(work) == before
    with pytest.raises(MigrateError, match="no conversion is stored here"):
        migrate("revert")


def test_one_file_from_another_directory(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = contents(work)
    migrate("convert", "src", "--in-place")
    monkeypatch.chdir(work / "src")
    assert migrate("revert", "plain.py") == 0
    assert (work / "src" / "plain.py").read_bytes() == ODD["plain.py"]
    assert b"create_table(" in (work / "src" / "crlf.py").read_bytes()
    assert migrate("revert", ".") == 0
    assert contents(work) == before


def test_a_changed_file_keeps_all_files_as_they_are(work: Path) -> None:
    migrate("convert", "src", "--in-place")
    (work / "src" / "plain.py").write_bytes((work / "src" / "plain.py").read_bytes() + b"# mine\n")
    before = contents(work)
    with pytest.raises(MigrateError, match=r"src/plain.py: was changed since it was converted; .*--merge"):
        migrate("revert")
    assert contents(work) == before


def test_merge_refuses_where_converted_lines_were_edited(work: Path) -> None:
    migrate("convert", "src", "--in-place")
    file = work / "src" / "plain.py"
    file.write_bytes(file.read_bytes().replace(b"device_vocabulary_size=9", b"device_vocabulary_size=90"))
    before = contents(work)
    with pytest.raises(MigrateError, match="converted lines were changed since"):
        migrate("revert", "--merge")
    assert contents(work) == before


def test_a_later_change_keeps_the_earlier_conversion(work: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = work / "src" / "plain.py"
    migrate("convert", "src/plain.py", "--in-place")
    edited = file.read_bytes() + b"mine = 1\n"
    Journal(work).record([(file, edited, edited + b"more = 1\n")])
    file.write_bytes(edited + b"more = 1\n")
    assert migrate("revert") == 0
    assert file.read_bytes() == edited
    assert "an earlier conversion was followed by other changes" in capsys.readouterr().err
    assert migrate("revert", "--merge") == 0
    assert file.read_bytes() == ODD["plain.py"] + b"mine = 1\n"


def test_all_or_none_when_writing_fails(work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    migrate("convert", "src", "--in-place")
    before = contents(work)
    write, calls = revert.write_atomically, list[Path]()

    def fail(path: Path, data: bytes) -> None:
        calls.append(path)
        if len(calls) == 3:
            raise MigrateError("no space")
        write(path, data)

    monkeypatch.setattr(revert, "write_atomically", fail)
    with pytest.raises(MigrateError, match="no space"):
        migrate("revert")
    assert contents(work) == before


def test_diff_writes_nothing(work: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    migrate("convert", "src/latin.py", "--in-place")
    before = contents(work)
    assert migrate("revert", "--diff") == 0
    assert b"\n-from runtime import create_table" in capfdbinary.readouterr().out
    assert contents(work) == before


@pytest.mark.parametrize("text", ["{", '{"format": "other", "edits": []}', "[]"])
def test_broken_stored_edits_are_named(work: Path, text: str) -> None:
    (work / ".migrate").mkdir()
    (work / PLACE).write_text(text)
    before = contents(work)
    for arguments in (["revert"], ["convert", "src", "--in-place"], ["convert", "src", "-o", "."]):
        with pytest.raises(MigrateError, match=r"edits.json: "):
            migrate(*arguments)
    assert contents(work) == before


def test_a_diff_is_undone_whatever_the_bytes() -> None:
    """Random texts with odd line ends, no last line end, equal lines and bytes that are no UTF-8."""
    choose = random.Random(7)
    parts = [b"a\n", b"a\n", b"b\r\n", b"\xff\xe9\n", b"\n", b"c\rd\n", b"-- x\n", b"\\ No newline\n", b"++ y\n", b"e"]
    for _ in range(3000):
        old = [choose.choice(parts) for _ in range(choose.randrange(12))]
        new = [part for part in old if choose.random() > 0.2]
        for _ in range(choose.randrange(4)):
            new.insert(choose.randrange(len(new) + 1), choose.choice(parts))
        before, after = b"".join(old), b"".join(new)
        diff = unified_diff("m.py", text_of(before), text_of(after))
        assert bytes_of(undo(text_of(after), diff)) == before
        assert json.loads(json.dumps(diff)) == diff


def test_undoing_something_else_is_noticed() -> None:
    diff = unified_diff("m.py", "a\nb\n", "a\nc\n")
    with pytest.raises(RegionChanged):
        undo("a\nd\n", diff)
    with pytest.raises(RegionChanged):
        undo("c\nc\n", diff, merge=True)
