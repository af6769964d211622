"""Many files from outside: processes, crashes, Ctrl-C, streams, generated files, progress."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.command import asleep
from tests.support.paths import ROOT

GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
)
#: Runs the command with something broken on purpose.
BROKEN = (
    "import multiprocessing.util, os, signal, sys, time, weakref\n"
    # What a shell runs in the background, such as a test run, ignores Ctrl-C, and its children inherit that.
    "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
    "import migrate.source.driver.process_pool as workers, migrate.source.files.atomic_write as writing\n"
    "from pathlib import Path\n"
    "convert, replace = workers.convert_bytes, Path.replace\n"
    "def crash(path, *rest):\n"
    "    if path.endswith('m3.py'):\n"
    "        os.kill(os.getpid(), signal.SIGSEGV)\n"
    "    return convert(path, *rest)\n"
    "def slow(path, *rest):\n"
    "    Path('started').touch()\n"
    "    time.sleep(60)\n"
    "def slow_replace(self, target):\n"
    "    if self.name.startswith('.m'):\n"
    "        Path('started').touch()\n"
    "        time.sleep(0.3)\n"
    "    return replace(self, target)\n"
    "finalize = multiprocessing.util.Finalize.__init__\n"
    "def slow_finalize(self, held, *rest, **named):\n"
    "    self._weakref = weakref.ref(held, self)\n"
    "    Path('started').touch()\n"
    "    time.sleep(0.3)\n"
    "    finalize(self, held, *rest, **named)\n"
)
RUN = "from migrate.cli.main import main\nmain()\n"


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT)}


def migrate(*arguments: object, cwd: Path, stdin: bytes = b"", code: str = "") -> subprocess.CompletedProcess[bytes]:
    """Run the command in its own process, after some code when that is given."""
    head = ["-c", BROKEN + code + RUN] if code else ["-m", "migrate"]
    command = [forking.python(), *head, *map(str, arguments)]
    return subprocess.run(command, cwd=cwd, env=environment(), input=stdin, capture_output=True, check=False)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Six convertible files."""
    (tmp_path / "src").mkdir()
    for index in range(6):
        (tmp_path / "src" / f"m{index}.py").write_text(GOOD.replace("user", f"user{index}"))
    return tmp_path


def test_a_process_that_dies_takes_one_file_with_it(work: Path) -> None:
    code = "workers.convert_bytes = crash\n"
    done = migrate("convert", "src", "-o", "out", "-j", 2, "--no-cache", cwd=work, code=code)
    assert done.returncode == 1, done.stderr
    assert (
        b"src/m3.py: no table\n  line 1: the converter failed (its process died: SIGSEGV); report this" in done.stderr
    )
    assert sorted(path.name for path in (work / "out").glob("*.py")) == ["m0.py", "m1.py", "m2.py", "m4.py", "m5.py"]


def interrupted(work: Path, code: str, number: int, *arguments: str) -> tuple[int, str]:
    """Run the command, send it a signal once it says that it has started, and return its exit code and stderr."""
    command = [sys.executable, "-c", BROKEN + code + RUN, "convert", "src", "--no-cache", *arguments]
    process = subprocess.Popen(command, cwd=work, env=environment(), stderr=subprocess.PIPE, text=True)
    deadline = time.monotonic() + 60
    while not (work / "started").exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    asleep(process.pid)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    return process.returncode, errors


@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.one_case
def test_ctrl_c_while_converting_leaves_everything_as_it_was(work: Path, jobs: str) -> None:
    before = {path: path.read_bytes() for path in (work / "src").iterdir()}
    code, errors = interrupted(work, "workers.convert_bytes = slow\n", signal.SIGINT, "--in-place", "-j", jobs)
    assert code == 130
    assert errors.strip() == "migrate: interrupted"
    assert {path: path.read_bytes() for path in (work / "src").iterdir()} == before


def test_kill_9_while_writing_leaves_whole_files(work: Path) -> None:
    before = {path.name: path.read_text() for path in (work / "src").iterdir()}
    code, _ = interrupted(work, "Path.replace = slow_replace\n", signal.SIGKILL, "--in-place")
    assert code == -signal.SIGKILL
    for name, text in before.items():
        found = (work / "src" / name).read_text()
        assert found == text or ("create_table" in found and found.endswith("sparse_lookup(W, ids)\n"))
    assert migrate("convert", "src", "--in-place", cwd=work).returncode == 0
    assert all("create_table" in (work / "src" / name).read_text() for name in before)
