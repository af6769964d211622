"""The command in a fork of this process, which has imported it, with the streams and rights that a test gives."""

from __future__ import annotations

import ctypes
import importlib
import os
import struct
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from click.testing import CliRunner

from migrate.cli.main import cli

#: What most commands import, so that each fork need not.
_LOADED = (
    "migrate.cli.convert",
    "migrate.cli.dataset",
    "migrate.cli.main",
    "migrate.cli.running",
    "migrate.cli.verify",
    "migrate.report.writers.as_html",
    "migrate.source.driver.run",
    "migrate.source.tensorflow.convert",
    "migrate.trial.command",
)
#: Root reads what it may not, unless these capabilities are dropped: CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH.
_MAY_READ_ALL = (1, 2)
_DROP = 24  #: PR_CAPBSET_DROP: for programs that the process starts
_CAPABILITIES = 0x20080522  #: _LINUX_CAPABILITY_VERSION_3
#: A program of one table, all of which converts.
GOOD = (
    "import tensorflow.compat.v1 as tf\n"
    'W = tf.get_variable("user", [9, 4], initializer=tf.zeros_initializer())\n'
    "e = tf.nn.embedding_lookup(W, ids)\n"
    "op = tf.train.AdagradOptimizer(0.1).minimize(e)\n"
)


def invoked(*arguments: str | Path) -> tuple[int, str, str]:
    """Run the command in this process; return its exit code and what it wrote to both streams."""
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.stdout, result.stderr


def asleep(process: int) -> None:
    """Wait until the process sleeps, as in a read that has nothing to read; at most a minute.

    A signal that comes after Python has looked for signals and before the read begins ends neither.
    """
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "S":
            return
        time.sleep(0.01)
    raise TimeoutError(f"process {process} still ran after 60 seconds")


@dataclass(frozen=True)
class Done:
    """How a command ended."""

    code: int
    out: str
    err: str


def migrate(
    arguments: Sequence[str],
    cwd: Path,
    *,
    given: bytes = b"",
    closed: Sequence[int] = (),
    unread: Sequence[int] = (),
    env: Mapping[str, str] | None = None,
) -> Done:
    """Run the command in a fork.

    Args:
        arguments: those of the command line.
        cwd: the working directory.
        given: what it reads from standard input.
        closed: numbers of the standard streams that are closed when it starts.
        unread: numbers of the standard streams that are pipes which nobody reads.
        env: further variables of the environment.
    """
    for module in _LOADED:
        importlib.import_module(module)
    with tempfile.TemporaryFile() as read, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        read.write(given)
        read.seek(0)
        child = os.fork()
        if not child:
            _child([read.fileno(), out.fileno(), err.fileno()], arguments, cwd, closed, unread, env or {})
        _, status = os.waitpid(child, 0)
        for stream in (out, err):
            stream.seek(0)
        texts = [stream.read().decode(errors="replace") for stream in (out, err)]
    return Done(os.waitstatus_to_exitcode(status), *texts)


def _read_as_others() -> None:
    """Let this process, and those that it starts, read no more than its user may."""
    libc, own = ctypes.CDLL(None), (ctypes.c_uint32 * 6)()
    header = struct.pack("=Ii", _CAPABILITIES, 0)
    libc.capget(header, own)
    for capability in _MAY_READ_ALL:
        libc.prctl(_DROP, capability, 0, 0, 0)
        own[0] &= ~(1 << capability)  # effective
        own[1] &= ~(1 << capability)  # permitted
    libc.capset(header, own)


def _child(
    streams: Sequence[int], arguments: Sequence[str], cwd: Path, closed: Sequence[int], unread: Sequence[int], env: Any
) -> None:
    """Become the command; never returns."""
    code = 99
    try:
        for number in unread:
            reading, streams[number] = os.pipe()  # type: ignore[index]
            os.close(reading)
        for number, stream in enumerate(streams):
            os.dup2(stream, number)
        for number in closed:
            os.close(number)
        sys.stdin, sys.stdout, sys.stderr = (
            None if number in closed else os.fdopen(number, mode, closefd=False) for number, mode in enumerate("rww")
        )
        _read_as_others()
        os.chdir(cwd)
        for name in ("NO_COLOR", "FORCE_COLOR"):
            os.environ.pop(name, None)
        os.environ.update(env)
        sys.argv = ["migrate", *arguments]
        from migrate.cli.main import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 98
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        try:
            for output in (sys.stdout, sys.stderr):
                output.flush()
        except OSError:
            os.write(streams[2], b"Traceback of the interpreter: streams cannot be flushed\n")
        os._exit(code)
