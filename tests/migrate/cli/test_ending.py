"""Whatever is given, and whatever happens to its streams, the command ends with a sentence and an exit code."""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.command import GOOD, Done, asleep, migrate
from tests.support.paths import ROOT

FILES = {
    "good.py": GOOD.encode(),
    "binary.py": bytes(range(256)) * 9,
    "zero.py": b"import tensorflow\0\n",
    "latin.py": b"import tensorflow as tf\nx = '\xe9'\n",
    "wide.py": GOOD.encode("utf-16"),
    "cookie.py": b"# coding: nonsense\nimport tensorflow\n",
    "deep.py": GOOD.encode() + b"x = " + b"(" * 300 + b"1" + b")" * 300 + b"\n",
    "long.py": GOOD.encode() + b"x = a" + b".b" * 300 + b"\n",
    "empty.py": b"",
    "bad.json": b"[1",
    "list.json": b'{"schema": {"name": "recmigrate-report", "major": 1}, "tool": []}',
    "bad.yaml": b"a: [\n\t",
    "bad.ipynb": b'{"cells": [{"cell_type": "code", "source": [3]}, 4], "metadata": null, "x": "tensorflow"}',
    "closed.py": GOOD.encode(),
    "line\nfeed.py": GOOD.encode(),
}
#: Not files of a directory, or no names at all.
OTHERS = ["", " ", ".", "-", "--", "folder.py", "loop.py", "dangling.py", "round", "locked", "\udcff.py", "good.py/x"]
OTHERS += ["nothing", "x" * 300, "a/" * 3000, "/dev/null", "/proc/self/mem", "~", "*.py"]
#: With `{}` for what is given; none of these runs a program or imports a framework.
COMMANDS_OF = [
    "convert {} -o out",
    "convert good.py -o {}",
    "convert good.py --cache-mode {} --eviction {}",
    "check good.py --rules {}",
    "check good.py --report locked/{}.json",
    "check good.py --baseline {}",
    "check good.py --baseline {} --update-baseline",
    "check - --stdin-filename {}",
    "explain good.py:{}",
    "revert {}",
    "revert {} --merge --diff",
    "run --report locked/{}.json -- true",
    "trial --json locked/{}.json -- true",
    "rules explain {}",
    "report html {} -o out.html",
    "verify {} nothing",
    "project {} -o made",
    "dataset census --train {} --test {} -o census",
    "{} good.py",
    "-{}",
]


@pytest.fixture
def work(tmp_path: Path) -> Iterator[Path]:
    """A directory with everything that may be wrong with a file."""
    for name, data in FILES.items():
        (tmp_path / name).write_bytes(data)
    (tmp_path / "closed.py").chmod(0)
    (tmp_path / "folder.py").mkdir()
    (tmp_path / "loop.py").symlink_to("loop.py")
    (tmp_path / "dangling.py").symlink_to("nothing")
    (tmp_path / "round").mkdir()
    (tmp_path / "round" / "again").symlink_to(tmp_path / "round")
    (tmp_path / "locked").mkdir()
    (tmp_path / "locked").chmod(0o500)
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.py")).write_text(GOOD)
    yield tmp_path
    (tmp_path / "locked").chmod(0o700)


def ended_well(done: Done, *, codes: tuple[int, ...] = (0, 1, 2)) -> bool:
    """True for an exit code that is documented, no traceback, and a reason where the command failed."""
    quiet = "Traceback" not in done.err and "internal error" not in done.err
    return done.code in codes and quiet and (done.code != 2 or bool(done.err))


@pytest.mark.parametrize("seed", [1, pytest.param(None, marks=pytest.mark.soak)])
def test_no_argument_and_no_file_makes_a_traceback(work: Path, seed: int | None) -> None:
    """Each command with one thing; `make soak` takes all of them."""
    draw = random.Random(seed)
    names, wrong = [*FILES, *OTHERS], []
    for command in COMMANDS_OF:
        for name in names if seed is None else [draw.choice(names)]:
            arguments = [word.replace("{}", name) for word in command.split(" ")]
            done = migrate(arguments, work, given=b"\xff\0import tensorflow\n")
            wrong += [] if ended_well(done) else [(arguments, done)]
    assert not wrong


@pytest.mark.parametrize("arguments", ["rules list", "convert good.py --diff", "convert -"])
@pytest.mark.one_case
def test_streams_may_be_closed_or_read_by_nobody(work: Path, arguments: str) -> None:
    words = arguments.split()
    normal = migrate(words, work, given=GOOD.encode())
    assert normal.code in (0, 1)
    unread = migrate(words, work, given=GOOD.encode(), unread=[1])
    assert (unread.code, ended_well(unread, codes=(141,))) == (141, True), unread
    for number in (1, 2):
        for closed in itertools.combinations(range(3), number):
            done = migrate(words, work, given=GOOD.encode(), closed=closed)
            assert ended_well(done), (closed, done)
            assert (work / "good.py").read_text() == GOOD
    converted = migrate(["convert", "good.py", "-o", "out", "--force"], work, closed=[0, 1, 2])
    assert converted.code == 0
    assert (work / "out" / "good.py").read_text().startswith("import tensorflow.compat.v1 as tf\n")
    for numbers in ([2], [1, 2]):
        assert migrate(words, work, given=GOOD.encode(), unread=numbers).code in (0, 1, 141)


@pytest.mark.parametrize(
    ("number", "code", "says"), [(signal.SIGINT, 130, "migrate: interrupted"), (signal.SIGTERM, 143, "")]
)
@pytest.mark.one_case
def test_a_signal_ends_every_command_with_its_own_code(work: Path, number: int, code: int, says: str) -> None:
    os.mkfifo(work / "pipe.json")  # it waits for somebody who writes, as it is given like the shell's `<(command)`
    folder = os.open(work, os.O_RDONLY)
    running = subprocess.Popen(
        [sys.executable, "-m", "migrate", "report", "show", f"/dev/fd/{folder}/pipe.json"],
        pass_fds=[folder],
        cwd=work,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # jobs in the background ignore it
    )
    writing, until = None, time.monotonic() + 60
    while writing is None and time.monotonic() < until:
        try:
            writing = os.open(work / "pipe.json", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:  # nobody reads yet
            time.sleep(0.05)
    assert writing is not None
    asleep(running.pid)
    running.send_signal(number)
    _, errors = running.communicate(timeout=60)
    os.close(writing)
    os.close(folder)
    assert (running.returncode, errors.strip()) == (code, says)


#: Sends the signal while an object is deleted: Python drops what a handler raises there, and in what it then calls.
DELETED = """
import os, signal, sys, time
from migrate.cli.ending import AGAIN, end_by_signals, finish
set_timer = signal.setitimer
def slow(*given):
    set_timer(*given)
    signal.setitimer = set_timer
    time.sleep({slow} * AGAIN)
class Held:
    def __del__(self):
        os.kill(os.getpid(), {number})
        [None for _ in range(100)]
def command():
    Held()
    time.sleep(30)
signal.setitimer = slow
signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell runs in the background ignores it
end_by_signals()
sys.exit(finish(command))
"""


@pytest.mark.parametrize(("number", "slow"), [(signal.SIGINT, 0), (signal.SIGTERM, 3)])
def test_a_signal_during_a_deletion_is_not_lost(number: signal.Signals, slow: int) -> None:
    code = DELETED.format(number=int(number), slow=slow)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 128 + number
    assert done.stderr.strip() in ("migrate: interrupted", "")
