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

from migrate.entering import NOTHING_ENTERED, part_paths, start_entered, without_tensorflow
from migrate.errors import MigrateError
from migrate.trial.child.settings import Settings
from migrate.verify.program_files import mirrored

#: Steps of a turn, of which the first is not timed.
BLOCK = 5
_PATIENCE = 10.0  #: seconds in which a process that is told to end does so
_LINES = 12  #: of a failed program that are shown


class CannotTrainError(MigrateError):
    """The program as it is takes no training step."""

    def __init__(self, message: str, output: str = "") -> None:
        """Take what is wrong, and the last lines that the program printed."""
        super().__init__(message)
        self.output = output


@dataclass
class Ended:
    """How a side ended."""

    code: int  #: negative: the signal that ended it
    data: dict[str, Any]  #: what the process with most steps wrote; empty if no process imported TensorFlow
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
    data = max(parts, key=lambda part: (len(part["seconds"]), bool(part["error"])), default=dict[str, Any]())
    lines = (side.folder / "log").read_text(encoding="utf-8", errors="replace").splitlines()
    # Files are named as in the working directory, of which the program has a copy.
    log = "\n".join(lines[-_LINES:]).replace(f"{side.folder}/copy", "")
    return Ended(code, data, log, without_tensorflow(side.folder))


def cannot_train(ended: Ended) -> MigrateError:
    """Return why the program as it is took no step."""
    error, faults = ended.data.get("error"), ended.data.get("faults")
    if ended.lacking and not (error or faults):
        return MigrateError(ended.lacking)
    if ended.code:
        how = error or (f"exit code {ended.code}" if ended.code > 0 else f"signal {-ended.code}")
        return CannotTrainError(
            f"the unchanged program fails before a training step ({how}); make it run without `migrate` first",
            ended.log,
        )
    if faults:
        return MigrateError(f"a fault of the trial, please report it: {faults[0]}")
    if not ended.data:
        return CannotTrainError(NOTHING_ENTERED, ended.log)
    return CannotTrainError(
        "the program took no training step that a trial can see: by a session, by Keras' `fit` or `train_on_batch`, or "
        "by a `tf.GradientTape` and an optimizer's `apply_gradients`; give the command that trains, and let it begin "
        "without the checkpoint of a finished training",
        ended.log,
    )
