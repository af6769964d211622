"""A reader cannot leave the model's folder, write, run code, or go on for ever."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.paddle.abstract import data_files, readers
from migrate.source.paddle.abstract.readers import batch_of
from tests.support.paddle.reader_files import ITERABLE, write

DATA = {"data/train/a.txt": "1\n2\n"}
BODIES = {
    "open('/etc/passwd')": "`/etc/passwd` is outside of the model's folder",
    "open('data/../../secret.txt')": "`data/../../secret.txt` is outside of the model's folder",
    "open('data/train/link.txt')": "`data/train/link.txt` is a link out of the model's folder",
    "os.listdir('..')": "`..` is outside of the model's folder",
    "open('../new.txt', 'w')": "`../new.txt` is outside of the model's folder",
    "open('data/train/pipe')": "there is no file `data/train/pipe`",
    "os.system('true')": "`os.system` is not supported",
    "np.load('data/train/a.npy', allow_pickle=True)": "running this fails",
    "eval('1')": "the value of `eval` is unknown",
    "[float(x) for x in ['1', 'a']]": "could not convert string to float: 'a'",
    "__import__('os')": "the value of `__import__` is unknown",
    "np.zeros(10**9)": "an array this large is not supported",
    "[0] * 10**9": "a list this long is not supported",
    "1 << 10**9": "a number this large is not supported",
    "re.match('(a+)+$', 'a' * 100 + 'b')": "repetitions in one another",
    "re.match('a*a*a*a*a*b', 'a' * 1000)": "may take too long",
}
STATEMENTS = {
    "while True: pass": "steps",
    "x = [0]\n                while True: x = x + x": "a list this long is not supported",
    "import itertools\n                for i in itertools.count(): self.f = max(itertools.count())": "seconds",
    "for i in range(60): self.x = [float(x) for x in ['1'] * 100]": "steps",
    "float = len\n                assert [float(x) for x in ['3', '22']] != [1, 2]": "this assertion fails",
    "raise ValueError('no')": "the program raises this error",
    "import pickle; pickle.load(open('data/train/a.txt', 'rb'))": "reading a pickle runs code",
}


def reason(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(readers, "MAX_STEPS", 20_000)
    monkeypatch.setattr(readers, "MAX_SECONDS", 1.0)
    lines = f"\n        def __iter__(self):\n                {body}\n                yield 1\n"
    files = write(folder, ITERABLE + lines, DATA)
    (folder.parent / "secret.txt").write_text("1 2\n")
    (folder / "data/train/link.txt").symlink_to(folder.parent / "secret.txt")
    os.mkfifo(folder / "data/train/pipe")
    (folder / "data/train/a.npy").write_bytes(b"\x93NUMPY\x01\x00v\x00{'descr': '<f8', 'fortran_order': False")
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(MigrateError) as error:
        batch_of(files, folder)
    assert sorted(folder.parent.rglob("*")) == before
    assert "\n" not in str(error.value)
    assert "give `inputs` with --schema" in str(error.value)
    return str(error.value)


@pytest.mark.parametrize("body", BODIES)
def test_an_expression_is_refused(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    assert BODIES[body] in reason(tmp_path / "model", body, monkeypatch)


@pytest.mark.parametrize("body", STATEMENTS)
def test_a_statement_is_refused(body: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "model").mkdir()
    assert STATEMENTS[body] in reason(tmp_path / "model", body, monkeypatch)


def test_a_link_to_the_folder_of_samples_is_not_followed(tmp_path: Path) -> None:
    model, other = tmp_path / "model", tmp_path / "other"
    other.mkdir()
    (other / "a.txt").write_text("1\n")
    files = write(model, ITERABLE, {})
    (model / "data").mkdir()
    (model / "data/train").symlink_to(other)
    with pytest.raises(MigrateError, match="is a link out of the model's folder"):
        batch_of(files, model)


@pytest.mark.parametrize(("path", "cut"), [("data/train/a.txt", True), ("words.txt", False)])
def test_long_samples_are_cut_and_other_long_files_refused(
    path: str, cut: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_files, "MAX_SAMPLE", 1000)
    monkeypatch.setattr(data_files, "MAX_FILE", 1000)
    body = f"\n        def __iter__(self):\n                for line in open({path!r}): yield int(line)\n"
    files = write(tmp_path, ITERABLE + body, {"data/train/a.txt": "", path: "1234\n" * 1000})
    if cut:
        assert batch_of(files, tmp_path)
    else:
        with pytest.raises(MigrateError, match="has more than 1000 bytes"):
            batch_of(files, tmp_path)


@pytest.mark.parametrize("call", ["exists('../secret.txt')", "isfile('/etc/passwd')", "isdir('..')"])
def test_nothing_exists_outside_of_the_folder(call: str, tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    lines = f"\n        def __iter__(self):\n                yield [1] if os.path.{call} else [1, 2]\n"
    files = write(tmp_path / "model", ITERABLE + lines, DATA)
    (tmp_path / "secret.txt").write_text("1\n")
    assert len(batch_of(files, tmp_path / "model")) == 2
