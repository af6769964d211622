"""Results kept between runs: the same as without, whatever is wrong with the directory."""

from __future__ import annotations

import os
import pickle
from dataclasses import replace
from pathlib import Path

import pytest

import migrate.source.driver.run as run
from migrate.source.driver.process_pool import Outcome, Task, convert_one
from migrate.source.driver.result_cache import Cache, key_of
from migrate.source.driver.run import Converted, How, convert_paths
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP

GOOD = HEAD + MADE + LOOKUP + STEP


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "good.py").write_text(GOOD)
    (tmp_path / "src" / "kept.py").write_text(GOOD + "l = tf.nn.l2_loss(W)\n")
    (tmp_path / "src" / "bad.py").write_text("import tensorflow\ndef f(:\n")
    return tmp_path / "src"


def converting(tree: Path, cache: Cache | None, options: Options | None = None) -> list[Converted]:
    return convert_paths([str(tree)], options or Options(), How(cache=cache))


def entries(cache: Cache) -> list[Path]:
    return sorted(cache.directory.glob("??/*"))


def counted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files that are converted from now on, as they are."""
    seen: list[str] = []

    def convert(tasks: list[Task], jobs: int) -> list[tuple[int, Outcome]]:
        seen.extend(Path(task.path).name for task in tasks)
        return [(index, convert_one(task)) for index, task in enumerate(tasks)]

    monkeypatch.setattr(run, "convert_all", convert)
    return seen


def test_a_second_run_converts_only_what_failed(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cache = Cache(tmp_path / "cache")
    first = converting(tree, cache)
    seen = counted(monkeypatch)
    assert converting(tree, cache) == first == converting(tree, None)
    assert seen == ["bad.py", "bad.py", "good.py", "kept.py"]


def test_what_a_result_depends_on_is_in_its_key(tree: Path) -> None:
    key = key_of("a.py", b"x", Options(), {})
    others = [
        key_of("b.py", b"x", Options(), {}),
        key_of("a.py", b"y", Options(), {}),
        key_of("a.py", b"x", Options(assume=True), {}),
        key_of("a.py", b"x", replace(Options(), target="sok"), {}),
        key_of("a.py", b"x", Options(), {"b.py": "x"}),
        key_of("a.py", b"x", Options(), {"b.py": "y"}),
    ]
    assert len({key, *others}) == 7
    assert key == key_of("a.py", b"x", Options(), {})


@pytest.mark.parametrize("damage", ["cut", "flip", "empty", "other", "directory"])
def test_a_damaged_entry_is_converted_again(tree: Path, tmp_path: Path, damage: str) -> None:
    cache = Cache(tmp_path / "cache")
    first = converting(tree, cache)
    for path in entries(cache):
        data = path.read_bytes()
        path.unlink()
        if damage == "directory":
            path.mkdir()
        else:
            kinds = {"cut": data[:-9], "flip": data[:-1] + b"!", "empty": b"", "other": b"0" * 64 + b"\n" + data}
            path.write_bytes(kinds[damage])
    assert converting(tree, cache) == first
    assert not list(cache.directory.glob("??/*.tmp"))


class Evil:
    def __reduce__(self) -> tuple[object, ...]:
        return os.system, ("echo evil",)


def test_an_entry_cannot_run_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called = []
    monkeypatch.setattr(os, "system", called.append)
    monkeypatch.setattr(pickle, "dumps", lambda value, protocol: _dumps(Evil(), protocol))
    cache = Cache(tmp_path)
    cache.put("ab1", Evil(), None)  # type: ignore[arg-type]
    assert entries(cache)
    assert cache.get("ab1") is None
    assert called == []


_dumps = pickle.dumps


def test_a_directory_that_cannot_be_written_is_done_without(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert converting(tree, Cache(tmp_path / "file" / "cache")) == converting(tree, None)


def test_it_stays_small_and_keeps_what_is_used(tree: Path, tmp_path: Path) -> None:
    cache = Cache(tmp_path / "cache")
    converting(tree, cache)
    size = sum(path.stat().st_size for path in entries(cache))
    kept, old = entries(cache)
    os.utime(old, (1, 1))
    Cache(cache.directory, limit=size - 1, added=1).prune()
    assert entries(cache) == [kept]
    Cache(cache.directory, limit=0, added=0).prune()
    assert entries(cache) == [kept]
