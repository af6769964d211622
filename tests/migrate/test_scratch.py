"""What a killed command leaves: nothing after SIGTERM or SIGHUP; after `kill -9` nothing once the next has begun."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migrate import scratch
from migrate.cli.ending import ENDING
from migrate.folders import new_folder
from migrate.scratch import marked, remove_leftovers, scratch_folder
from migrate.source.files.atomic_write import write_atomically
from tests.support.command import asleep
from tests.support.disk_moments import moments
from tests.support.paths import ROOT

#: A command that compares two programs; the worker of each writes its number, and waits.
COMMAND = """
import signal
import sys
from migrate.cli.ending import end_by_signals, finish
from migrate.verify import workers
signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a test run that was started by nohup ignores it
end_by_signals()
sys.exit(finish(lambda: workers.run_together([(MODULE, {"path": "a"}), (MODULE, {"path": "b"})])))
"""
SLEEPER = """
import os, pathlib, time
def run(job):
    pathlib.Path(os.environ["STARTED"], str(os.getpid())).touch()
    time.sleep(60)
"""


#: One is forked, the other started, as those of Paddle are.
MODULES = ("sleeper", "own.paddle.sleeper")


def killed(place: Path, number: int, module: str) -> tuple[int, list[int]]:
    """Run the command, send it a signal once both workers wait, and return its exit code and the numbers of these."""
    started, scratch = place / "started", place / "scratch"
    for folder in (started, scratch):
        folder.mkdir()
    file = place / f"{module.replace('.', '/')}.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SLEEPER)
    paths = {"PYTHONPATH": f"{ROOT}:{place}", "TMPDIR": str(scratch), "STARTED": str(started)}
    running = subprocess.Popen(
        [sys.executable, "-c", COMMAND.replace("MODULE", repr(module))], env={**os.environ, **paths}
    )
    until = time.monotonic() + 60
    while len(list(started.iterdir())) < 2 and time.monotonic() < until:
        time.sleep(0.02)
    asleep(running.pid)
    running.send_signal(number)
    return running.wait(60), [int(file.name) for file in started.iterdir()]


@pytest.mark.parametrize(("number", "module"), [*zip(ENDING, MODULES, strict=True)])
def test_a_signal_ends_the_workers_and_removes_their_folders(
    tmp_path: Path, number: signal.Signals, module: str
) -> None:
    code, workers = killed(tmp_path, number, module)
    assert (code, len(workers)) == (128 + number, 2)
    assert not list((tmp_path / "scratch").iterdir())
    assert not any(map(_runs, workers))


def _runs(process: int) -> bool:
    """Whether a process is there after a minute, be it that it has ended and nobody has asked how."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        try:
            os.kill(process, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.02)
    return True


@pytest.mark.parametrize("module", MODULES)
def test_what_kill_9_left_goes_when_the_next_folder_is_made(tmp_path: Path, module: str) -> None:
    code, workers = killed(tmp_path, signal.SIGKILL, module)
    assert not any(map(_runs, workers)), "workers go on, though nobody waits for them"
    place = tmp_path / "scratch"
    assert code == -signal.SIGKILL
    assert len(list(place.iterdir())) == 2
    kept = [place / "migrate-verify-notes", place / f"{marked()[1:]}abcdefgh"]
    for folder in kept:
        folder.mkdir()
    with scratch_folder("migrate-verify-", place) as mine:
        assert sorted(place.iterdir()) == sorted([*kept, mine])
    assert sorted(place.iterdir()) == sorted(kept)


def test_the_mirror_of_a_killed_process_goes_when_the_next_is_made(tmp_path: Path) -> None:
    """Also where nobody gave the process a folder for its temporary files."""
    (tmp_path / "program").mkdir()
    (tmp_path / "program" / "data.csv").write_text("1")
    place = tmp_path / "temporary"
    place.mkdir()
    enters = f"from migrate.verify.program_files import enter; enter({str(tmp_path / 'program')!r}); print(flush=True)"
    command = [sys.executable, "-c", f"{enters}; import time; time.sleep(60)"]
    left = []
    for _ in range(2):
        with subprocess.Popen(
            command, env={**os.environ, "PYTHONPATH": str(ROOT), "TMPDIR": str(place)}, stdout=subprocess.PIPE
        ) as running:
            assert running.stdout is not None and running.stdout.readline()
            left.append({path.name for path in place.iterdir()})
            running.kill()
    assert [len(names) for names in left] == [1, 1] and left[0] != left[1]
    remove_leftovers(place)
    assert not list(place.iterdir()) and (tmp_path / "program" / "data.csv").exists()


def left_by(process: int, target: str = "") -> str:
    """Return the temporary name that an ended process leaves."""
    return f"{marked(target)}abc_efg8".replace(f"-{os.getpid()}-", f"-{process}-")


@pytest.fixture
def ended() -> int:
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


def test_files_and_folders_of_ended_processes_alone_are_removed(tmp_path: Path, ended: int) -> None:
    name = left_by(ended)
    gone = [name, f"{left_by(ended, 'out')}.tmp", name[1:].replace("migrate-", "migrate-project-")]
    stays = [
        f"{marked()}abc_efg8",
        name[:-4],
        f"{name}.py",
        ".migrate-x",
        f"migrate-{ended}-database",  # a user's own
        name.replace(f"-{ended}-", f"-{ended}-0"),
    ]
    for one in (*gone, *stays):
        (tmp_path / one).mkdir()
        (tmp_path / one / "file").touch()
    (tmp_path / f"{left_by(ended, 'link')}.tmp").symlink_to(tmp_path / stays[0])
    (tmp_path / f"{left_by(ended, 'file')}.tmp").touch()
    remove_leftovers(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(stays)
    assert (tmp_path / stays[0] / "file").exists()
    remove_leftovers(tmp_path / "nowhere")


@pytest.mark.parametrize("other", ["machine", "user"])
def test_what_another_machine_or_user_left_stays(
    tmp_path: Path, ended: int, monkeypatch: pytest.MonkeyPatch, other: str
) -> None:
    name = tmp_path / left_by(ended)
    name.mkdir()
    if other == "machine":  # on which a process of this number may run, and write to this folder
        monkeypatch.setattr("platform.node", lambda: "elsewhere")
        scratch._here.cache_clear()
    else:
        user = os.geteuid() + 1
        monkeypatch.setattr("os.geteuid", lambda: user)
    try:
        remove_leftovers(tmp_path)
        assert name.exists()
    finally:
        monkeypatch.undo()
        scratch._here.cache_clear()
    remove_leftovers(tmp_path)
    assert not name.exists()


def test_kill_9_while_a_folder_is_replaced_loses_neither_the_old_one_nor_the_new_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "place"
    (place / "out").mkdir(parents=True)
    (place / "out" / "text").write_text("old")

    def replace() -> None:
        with new_folder(place / "out", replace=True) as made:
            (made / "text").write_text("new")

    found = moments(replace, place, tmp_path / "copies")
    monkeypatch.setattr(scratch, "_lives", lambda process: False)
    for copy in found:
        remove_leftovers(copy)
        assert {"old", "new"} & {text.read_text() for text in copy.glob("*/text")}
    assert [path.name for path in place.iterdir()] == ["out"]
    assert (place / "out" / "text").read_text() == "new"


@pytest.mark.parametrize("letter", ["a", "é", "表", "\udcff"])
def test_a_name_as_long_as_the_file_system_takes_has_a_temporary_one(tmp_path: Path, letter: str) -> None:
    length = len(os.fsencode(letter))
    file, folder = (tmp_path / (letter * (255 // length - 1) + end) for end in ("f", "d"))
    for text in (b"first", b"second"):
        write_atomically(file, text)
        with new_folder(folder, replace=True) as made:
            (made / "text").write_bytes(text)
        assert file.read_bytes() == (folder / "text").read_bytes() == text
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([file.name, folder.name])
