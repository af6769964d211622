"""The share of a proof that is done, and the bar that shows it to who watches."""

from __future__ import annotations

import io
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from migrate.cli import console
from migrate.verify import progress, workers
from migrate.verify.progress import Progress
from migrate.verify.settings import Settings

SETTINGS = Settings(steps=3, batches=1)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of this process, as if it were a worker."""
    monkeypatch.setenv(progress.FILE, str(tmp_path / "own"))
    yield tmp_path / "own"


@pytest.mark.parametrize(
    ("job", "runs", "after"),
    [
        ({}, 1, [0.25, 0.5, 0.75, 1.0]),
        ({}, 2, [0.125, 0.25, 0.375, 0.5]),
        ({"rates": {"sgd": 1, "adam": 1, "adagrad": 1}}, 1, [0.1, 0.2, 0.3, 0.4]),
        ({"passes": True}, 1, [1.0]),
        ({"passes": False, "moved": {}}, 1, [0.3333, 0.6667, 1.0]),
    ],
)
def test_a_worker_writes_what_it_has_done(own: Path, job: dict[str, object], runs: int, after: list[float]) -> None:
    progress.begin({"settings": SETTINGS, **job}, runs)
    assert not own.exists()
    seen = []
    for _ in progress.counted(range(len(after) + 1)):
        seen.append(float(own.read_text()) if own.exists() else 0.0)
    assert seen == [0.0, *after]


def test_the_share_is_that_of_all_workers(tmp_path: Path) -> None:
    watched, shares = Progress(), []
    files = [tmp_path / name for name in "abc"]
    with watched.watched():
        progress.expect(3)
        shares.append(watched.share())
        with progress.worker(files[0]), progress.worker(files[1]):
            files[0].write_text("0.5")
            files[1].write_text("")  # just about to be written
            shares.append(watched.share())
            files[1].write_text("1.7")  # more steps than it was thought to have
            shares.append(watched.share())
        shares.append(watched.share())
        with progress.worker(files[2]):
            shares.append(watched.share())
        shares.append(watched.share())
    assert shares == pytest.approx([0, 0.5 / 3, (0.5 + 0.97) / 3, 2 / 3, 2 / 3, 1])
    progress.expect(9)  # nobody watches any more
    with progress.worker(files[0]):
        assert watched.share() == 1


def test_workers_in_threads_are_watched_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    watched, shares = Progress(), []

    def end_of(module: str, job: Path, result: Path, log: Path) -> int:
        log.write_text("")
        (log.parent / "progress").write_text("0.5")
        shares.append(watched.share())
        return 1

    monkeypatch.setattr(workers, "end_of", end_of)
    with watched.watched():
        progress.expect(2)
        found = workers.run_together([("m", {"path": "a.py"}), ("m", {"path": "b.py"})])
    assert len(found) == len(shares) == 2
    assert max(shares) >= 0.5 and watched.share() == 1


class Terminal(io.StringIO):
    """A terminal that keeps what was written to it."""

    def isatty(self) -> bool:
        return True


def shown(monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, level: int = console.NORMAL) -> str:
    """Return what is shown on standard error while something is half done and then ends."""
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(console, "_SECONDS", 0.01)
    looks: list[float] = []

    def share() -> float:
        looks.append(0.5)
        return 0.5

    context = click.Context(click.Command("verify"))
    context.meta[console.LEVEL] = level
    with context, console.with_time_left(share, "running"):
        ends = time.monotonic() + 10
        while stream.isatty() and level and len(looks) < 3 and time.monotonic() < ends:
            time.sleep(0.01)
    return stream.getvalue()


def test_a_terminal_shows_how_much_is_done_and_how_long_it_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    text = shown(monkeypatch, Terminal())
    assert re.search(r"\rrunning: 50%, about 0 s left +\r", text)
    assert re.search(r"\r +\r\Z", text)  # the line is cleared


@pytest.mark.parametrize(
    ("done", "seconds", "said"),
    [
        (0.0, 9, "running"),
        (0.01, 9, "running"),
        (0.25, 10, "running: 25%, about 30 s left"),
        (0.5, 600, "running: 50%, about 10 min left"),
        (1.0, 600, "running: 100%, about 0 s left"),
    ],
)
def test_the_time_left_follows_from_the_time_taken(done: float, seconds: float, said: str) -> None:
    assert console.time_left("running", done, seconds) == said


@pytest.mark.parametrize(("stream", "level"), [(io.StringIO(), console.NORMAL), (Terminal(), console.QUIET)])
def test_nothing_is_shown_where_nobody_watches(
    monkeypatch: pytest.MonkeyPatch, stream: io.StringIO, level: int
) -> None:
    assert shown(monkeypatch, stream, level) == ""


def test_an_error_ends_the_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())
    with pytest.raises(ValueError, match="broken"), console.with_time_left(lambda: 0.0, "running"):
        raise ValueError("broken")


def test_a_program_that_only_draws_batches_counts_nothing(own: Path) -> None:
    progress.begin({"path": "x", "count": 3}, 1)
    assert not own.exists()
