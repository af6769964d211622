"""What a killed command leaves: nothing after SIGTERM, and after `kill -9` nothing once the next one has begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migrate.scratch import remove_leftovers, scratch_folder
from tests.support.paths import ROOT

#: A command that compares two programs; the worker of each writes its number, and waits.
COMMAND = """
import sys
from migrate.cli.ending import end_by_sigterm, finish
from migrate.verify import workers
end_by_sigterm()
sys.exit(finish(lambda: workers.run_together([("sleeper", {"path": "a"}), ("sleeper", {"path": "b"})])))
"""
SLEEPER = """
import os, pathlib, time
def run(job):
    pathlib.Path(os.environ["STARTED"], str(os.getpid())).touch()
    time.sleep(60)
"""


def killed(place: Path, number: int) -> tuple[int, list[int]]:
    """Run the command, send it a signal once both workers wait, and return its exit code and the numbers of these."""
    started, scratch = place / "started", place / "scratch"
    for folder in (started, scratch):
        folder.mkdir()
    (place / "sleeper.py").write_text(SLEEPER)
    paths = {"PYTHONPATH": f"{ROOT}:{place}", "TMPDIR": str(scratch), "STARTED": str(started)}
    running = subprocess.Popen([sys.executable, "-c", COMMAND], env={**os.environ, **paths})
    until = time.monotonic() + 60
    while len(list(started.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    running.send_signal(number)
    return running.wait(60), [int(file.name) for file in started.iterdir()]


def test_sigterm_ends_the_workers_and_removes_their_folders(tmp_path: Path) -> None:
    code, workers = killed(tmp_path, signal.SIGTERM)
    assert (code, len(workers)) == (143, 2)
    assert not list((tmp_path / "scratch").iterdir())
    for worker in workers:
        with pytest.raises(ProcessLookupError):
            os.kill(worker, 0)


def test_what_kill_9_left_goes_when_the_next_folder_is_made(tmp_path: Path) -> None:
    code, workers = killed(tmp_path, signal.SIGKILL)
    for worker in workers:
        os.kill(worker, signal.SIGKILL)
    place = tmp_path / "scratch"
    assert code == -signal.SIGKILL
    assert len(list(place.iterdir())) == 2
    kept = [place / "migrate-verify-notes", place / f"migrate-verify-{os.getpid()}-abcdefgh"]
    for folder in kept:
        folder.mkdir()
    with scratch_folder("migrate-verify-", place) as mine:
        assert sorted(place.iterdir()) == sorted([*kept, mine])
    assert sorted(place.iterdir()) == sorted(kept)


def test_files_and_folders_of_ended_processes_alone_are_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen(["true"])
    ended.wait()
    gone = [
        f".migrate-{ended.pid}-abc_efg8",
        f".out.migrate-{ended.pid}-abcdefgh.tmp",
        f"migrate-project-{ended.pid}-abcdefgh",
    ]
    stays = [
        f".migrate-{os.getpid()}-abcdefgh",
        f".migrate-{ended.pid}-long",
        f"migrate-{ended.pid}-abcdefgh.py",
        ".migrate-x",
    ]
    for name in (*gone, *stays):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    (tmp_path / f".link.migrate-{ended.pid}-abcdefgh.tmp").symlink_to(tmp_path / stays[0])
    (tmp_path / f".file.migrate-{ended.pid}-abcdefgh.tmp").touch()
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stays)
    assert (tmp_path / stays[0] / "file").exists()
    remove_leftovers(tmp_path / "nowhere")
