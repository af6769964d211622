"""Runs the sides of a trial: the program as it is and with tables, by turns, so that neither slows the other down."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from migrate.entering import part_paths, start_entered, without_tensorflow
from migrate.errors import MigrateError
from migrate.trial.child.settings import Settings
from migrate.verify.program_files import mirrored

#: Steps of a turn, of which the first is not timed.
BLOCK = 5
_PATIENCE = 10.0  #: seconds in which a process that is told to end does so
_LINES = 12  #: of a failed program that are shown


@dataclass
class Ended:
    """How a side ended."""

    code: int  #: negative: the signal that ended it
    data: dict[str, Any]  #: what the process that took the steps wrote; empty if none took any
    log: str  #: the last lines that it printed
    lacking: str = ""  #: what to do where its Python has no TensorFlow

    @property
    def steps(self) -> int:
        """Training steps that were taken."""
        return len(self.data.get("seconds", ()))


def run_both(command: Sequence[str], scratch: Path, steps: int, tables: Any) -> tuple[Ended, Ended]:
    """Run the program as it is and with tables by turns, and return how both ended.

    Raises:
        MigrateError: the command cannot be started.
    """
    with contextlib.ExitStack() as stack:
        sides = []
        for name, install in (("original", None), ("moved", {"tables": tables})):
            settings = Settings(str(scratch), str(scratch / name), steps, BLOCK, False)
            sides.append(stack.enter_context(_side(command, settings, install)))
        _take_turns(sides)
        return _ended(sides[0]), _ended(sides[1])


def run_alone(command: Sequence[str], scratch: Path, name: str, steps: int, install: dict[str, Any] | None) -> Ended:
    """Run the program with tables by itself, and look at ids unless it proves something."""
    counts = install is not None and "verify" not in install
    settings = Settings(str(scratch), str(scratch / name), steps, 0, counts)
    with _side(command, settings, install) as side:
        return _ended(side)


@dataclass
class _Side:
    """One of the two programs while it runs."""

    folder: Path
    process: subprocess.Popen[bytes]

    def signal(self, number: signal.Signals) -> None:
        """Send a signal to all its processes."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.process.pid, number)

    def pauses(self) -> bool:
        """Wait until its processes stand still, which it lets them do after its turn, or it has ended."""
        state = os.waitid(os.P_PID, self.process.pid, os.WEXITED | os.WSTOPPED | os.WNOWAIT)
        return state is not None and state.si_code == os.CLD_STOPPED


@contextlib.contextmanager
def _side(command: Sequence[str], settings: Settings, install: dict[str, Any] | None) -> Iterator[_Side]:
    """Start a side in a copy of the working directory; at the end none of its processes is left."""
    folder = Path(settings.side)
    (folder / "copy").mkdir(parents=True)
    os.mkfifo(folder / "alive")
    alive = os.open(folder / "alive", os.O_RDWR)
    here = mirrored(os.getcwd(), folder / "copy")  # noqa: PTH109
    environment = {"PWD": str(here), "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0")}
    # A group of its own, which can stand still.
    group: dict[str, Any] = {"process_group": 0} if sys.version_info >= (3, 11) else {"preexec_fn": os.setpgrp}
    with open(folder / "log", "wb") as log:  # noqa: PTH123
        process = start_entered(
            command,
            folder,
            "trial",
            {"install": install, "trial": settings._asdict()},
            environment,
            cwd=here,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            **group,
        )
    side = _Side(folder, process)
    try:
        (folder / "group").write_text(str(process.pid), encoding="utf-8")
        yield side
    finally:
        _end(side)
        os.close(alive)


def _end(side: _Side) -> None:
    """End what is left of a side, also of what the command has started."""
    side.signal(signal.SIGTERM)
    side.signal(signal.SIGCONT)
    with contextlib.suppress(subprocess.TimeoutExpired):
        side.process.wait(_PATIENCE)
    side.signal(signal.SIGKILL)
    side.process.wait()


def _take_turns(sides: Sequence[_Side]) -> None:
    """Let one side at a time take a block of steps, once both have come to their first; one alone goes on by itself."""
    turns = [side for side in sides if side.pauses()]
    while turns:
        for side in list(turns):
            side.signal(signal.SIGCONT)
            if not side.pauses():
                turns.remove(side)


def _ended(side: _Side) -> Ended:
    code = side.process.wait()
    parts: list[dict[str, Any]] = [json.loads(path.read_text(encoding="utf-8")) for path in part_paths(side.folder)]
    data = max(parts, key=lambda one: (len(one["seconds"]), bool(one["error"])), default=dict[str, Any]())
    lines = (side.folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    # Files are named as in the working directory, of which the program has a copy.
    log = "\n".join(lines[-_LINES:]).replace(f"{side.folder}/copy", "")
    return Ended(code, data, log, without_tensorflow(side.folder))


def cannot_train(ended: Ended) -> MigrateError:
    """Return why the program as it is took no step."""
    if ended.lacking and not ended.data:
        return MigrateError(ended.lacking)
    if ended.code:
        how = ended.data.get("error") or (f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}")
        return MigrateError(
            f"the unchanged program fails before a training step ({how}); make it run without `migrate` "
            f"first\n{ended.log}"
        )
    if ended.data.get("faults"):
        return MigrateError(f"a fault of the trial, please report it: {ended.data['faults'][0]}")
    return MigrateError(
        "no training step of a TensorFlow session, or of Keras' `fit` and `train_on_batch`, was seen; a loop of your "
        "own (`tf.GradientTape`) cannot be tried, but `migrate run` and `migrate verify` take it; else give the "
        "command that trains, without a checkpoint of its last step, and let its Python read PYTHONPATH (no `python "
        "-I`, -E or -S)" + (f"\n{ended.log}" if ended.log else "")
    )
