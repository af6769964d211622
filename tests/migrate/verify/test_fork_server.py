"""The process that workers are forked from: what a fork is given, how its end is told, and what ends it."""

from __future__ import annotations

import os
import pickle
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from migrate.verify.fork_server import Forked, Server

Fork = Callable[[str], Forked]


@pytest.fixture
def fork(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fork:
    """A function that forks a worker of a module with this body of `run`, in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "job").write_bytes(pickle.dumps({"path": "a.py"}))
    server = Server((), dict(os.environ))

    def forked(body: str) -> Forked:
        (tmp_path / "program.py").write_text(f"import os, sys, time\n\n\ndef run(job):\n    {body}\n")
        environment = {**os.environ, "WORD": "given"}
        with (tmp_path / "log").open("wb") as log:
            return server.fork(["program", "job", "result"], environment, tmp_path, log.fileno())

    return forked


def test_a_fork_has_what_it_is_given(fork: Fork, tmp_path: Path) -> None:
    process = fork(
        "print('said'); return {k: v for k, v in zip('abc', (os.environ['WORD'], os.getcwd(), os.getpid()))}"
    )
    assert process.wait() == 0
    assert pickle.loads((tmp_path / "result").read_bytes()) == {"a": "given", "b": str(tmp_path), "c": process.pid}
    assert (tmp_path / "log").read_text() == "said\n"


@pytest.mark.parametrize(("body", "code"), [("os._exit(7)", 7), ("os.kill(os.getpid(), 11)", -11)])
def test_its_exit_code_is_told(fork: Fork, body: str, code: int) -> None:
    assert fork(body).wait() == code


def test_it_does_not_outlive_who_waits_for_it(fork: Fork) -> None:
    process = fork("time.sleep(600)")
    os.close(process._reply)
    until = time.monotonic() + 60
    while time.monotonic() < until and Path(f"/proc/{process.pid}").exists():
        time.sleep(0.02)
    assert not Path(f"/proc/{process.pid}").exists()


@pytest.mark.parametrize("module", ["no_such_module", "threaded"])
def test_without_what_it_imports_or_beside_its_threads_there_is_nothing_to_fork_from(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = "import threading, time\n\nthreading.Thread(target=time.sleep, args=[600], daemon=True).start()\n"
    (tmp_path / "threaded.py").write_text(text)
    server = Server((module,), dict(os.environ))
    with (tmp_path / "log").open("wb") as log, pytest.raises(OSError, match=r"."):
        server.fork([], {}, tmp_path, log.fileno())
