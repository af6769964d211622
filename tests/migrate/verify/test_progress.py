"""The share of a proof that is done, and the bar that shows it to who watches."""

from __future__ import annotations

import io
import re
import sys
import time
from pathlib import Path

import click
import pytest

from migrate.cli import console
from migrate.verify import progress, workers
from migrate.verify.progress import Progress


def test_the_share_is_that_of_all_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in threads count, too."""
    watched, shares = Progress(), []

    def end_of(module: str, job: Path, result: Path, log: Path) -> int:
        log.write_text("")
        shares.append(watched.share())
        return 1

    monkeypatch.setattr(workers, "end_of", end_of)
    jobs = [("m", {"path": "a.py"}), ("m", {"path": "b.py"})]
    with watched.watched():
        assert watched.share() == 0
        progress.expect(3)
        assert len(workers.run_together(jobs)) == 2
        assert watched.share() == pytest.approx(2 / 3)
        workers.run_together(jobs[:1])
        assert watched.share() == 1
        workers.run_together(jobs[:1])  # more than were expected
    assert watched.share() == 1 and shares[2:] == [2 / 3, 1]
    progress.expect(9)  # nobody watches any more
    assert watched.share() == 1


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
