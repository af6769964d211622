"""Commands that run in copies of their folders, in forks of one process."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.verify import pair
from migrate.verify.fork_server import Forked, Server
from migrate.verify.settings import Settings

#: Prints what it finds: a file of data, its arguments, a module beside it, and one of the folder above.
PROGRAM = """
import sys
from beside import NAME
import library
print(open("data/ids.txt").read(), sys.argv[1:], NAME, library.NAME, __name__)
open("written.txt", "w").write("left")
"""
START = """
import sys
from migrate.verify.tensorflow.program import started
started(*sys.argv[1:3], sys.argv[3:])[1]()
"""


def _write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def _folders(folder: Path) -> tuple[Path, Path]:
    """Return a program's folder, and one that has the changed module alone."""
    files = {
        "examples/code/train.py": PROGRAM,
        "examples/code/beside.py": "NAME = 'first'",
        "examples/code/__init__.py": "",
        "examples/beside.py": "NAME = 'of the folder'",
        "examples/data/ids.txt": "7 8",
        "library/__init__.py": "NAME = 'original'",
    }
    changed = {"examples/code/beside.py": "NAME = 'second'", "library/__init__.py": "NAME = 'converted'"}
    return _write(folder / "project", files), _write(folder / "out", changed)


def _printed(original: Path, path: Path, *command: str) -> str:
    places = {"PYTHONPATH": f"{original}:{Path(__file__).parents[3]}"}
    words = [sys.executable, "-c", START, str(path), str(original), *command]
    done = subprocess.run(words, cwd=original / "examples", env=places, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_a_script_runs_where_the_command_is_given(tmp_path: Path) -> None:
    original, converted = _folders(tmp_path)
    command = ("python3", "-u", "code/train.py", "--epochs", "1")
    assert _printed(original, original, *command) == "7 8 ['--epochs', '1'] first original __main__"
    assert _printed(original, converted, *command) == "7 8 ['--epochs', '1'] second converted __main__"
    assert not list(tmp_path.rglob("written.txt"))


def test_a_module_runs_as_python_runs_it(tmp_path: Path) -> None:
    original, converted = _folders(tmp_path)
    assert _printed(original, converted, "-m", "code.train") == "7 8 [] of the folder converted __main__"


def test_a_command_without_a_program_is_an_error(tmp_path: Path) -> None:
    from migrate.verify.tensorflow.program import started

    with pytest.raises(MigrateError, match="`python -c x` names no program; give the command"):
        started(str(tmp_path), str(tmp_path), ["python", "-c", "x"])


TRAIN = """
import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_v2_behavior()
ids = tf.placeholder(tf.int64, [None])
W = tf.get_variable("user", [20, 4], initializer=tf.ones_initializer())
loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.nn.embedding_lookup(W, ids), 1) - 0.3))
step = tf.train.AdagradOptimizer(0.3, 0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(3):
        session.run(step, {ids: np.loadtxt("ids.txt", dtype=np.int64) + number})
"""


def test_a_converted_folder_is_proven_by_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = _write(tmp_path / "project", {"code/train.py": TRAIN, "code/__init__.py": "", "ids.txt": "3 3 5"})
    moved = TRAIN.replace("\ntf.disable", '\nimport rewriter\nrewriter.install(tables=["user"])\ntf.disable')
    converted = _write(tmp_path / "out", {"code/train.py": moved})
    monkeypatch.chdir(original)
    settings = Settings(steps=2, batches=1, arguments=("python", "-m", "code.train"))
    result = pair.verify(".", str(converted), None, settings)
    assert result.passed
    assert "user [slots]" in {one.name for one in result.comparisons}


@pytest.mark.parametrize(("module", "stays"), [("json.tool", "json"), ("code.train", "")])
def test_a_module_of_the_folder_alone_takes_the_place_of_one_of_its_name(
    module: str, stays: str, tmp_path: Path
) -> None:
    """Another one may be in use, as a facade that runs the program is."""
    original, converted = _folders(tmp_path)
    start = START.replace("[1]()", "").replace("import sys", "import sys, json, code")
    ask = f"print(*({{{module.partition('.')[0]!r}}} & set(sys.modules)))"
    words = [sys.executable, "-c", start + ask, str(converted), str(original), "-m", module]
    places = {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run(words, cwd=original / "examples", env=places, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == stays


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
