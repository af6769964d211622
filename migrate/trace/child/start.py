"""Begins to trace this process; called by the `sitecustomize` of `migrate trace`."""

from __future__ import annotations

import atexit
import contextlib
import os
import signal
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .imports import Finder
from .lines import Lines
from .parts import Parts
from .program import Program
from .settings import Settings, given_settings
from .stacks import Stacks
from .state import Notes, unharmed
from .steps import Steps


def start() -> None:
    """Trace this process, if the environment says so."""
    settings = given_settings()
    if settings is not None:
        _follow(settings)


def _follow(settings: Settings) -> None:
    program = Program(settings.root)
    lines, notes = Lines(program), Notes()
    stacks = Stacks(program, notes.maps)
    parts = Parts(settings, program, lines, notes, stacks)

    def counted(last: bool) -> None:
        parts.count = steps.count
        if steps.is_over:
            parts.ended = f"after {steps.count} steps"
        if last:
            parts.write()
        elif not steps.is_over:
            parts.from_time_to_time()

    steps = Steps(settings.steps, counted)
    finder = Finder(program, lines)
    sys.meta_path.insert(0, finder)
    finder.after("tensorflow", lambda _: _with_tensorflow(notes, stacks, steps, lines, parts, finder))
    lines.start()


def _with_tensorflow(notes: Notes, stacks: Stacks, steps: Steps, lines: Lines, parts: Parts, finder: Finder) -> None:
    from . import functions, graphs, optimizers, quiet
    from .calls import Calls
    from .eager import Eager
    from .sessions import Sessions
    from .touches import Touches

    installs: tuple[Callable[[], None], ...] = (
        lambda: quiet.install(lines),
        lambda: graphs.install(notes),
        lambda: functions.install(steps),
        lambda: optimizers.install(notes, steps, finder),
        Eager(notes, stacks).install,
        Sessions(notes, steps, lines).install,
        Touches(notes, stacks).install,
        Calls(notes, stacks).install,
    )
    for install in installs:
        with unharmed(notes):  # a version of TensorFlow may lack what one of them needs
            install()
    _write_at_the_end(parts, steps)
    os.register_at_fork(after_in_child=lambda: _forked(notes, parts, steps))


def _write_at_the_end(parts: Parts, steps: Steps) -> None:
    def end(how: str) -> None:
        if parts.ended in ("killed", ""):
            parts.ended = how
        parts.count = steps.count
        parts.write()

    before = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        parts.ended = f"by {kind.__name__}"
        before(kind, error, trace)

    def told(number: int, _frame: FrameType | None) -> None:
        end(f"by {signal.Signals(number).name}")
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    sys.excepthook = failed
    atexit.register(end, "by itself")
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # TensorFlow was imported by another thread than the main one
            signal.signal(signal.SIGTERM, told)


def _forked(notes: Notes, parts: Parts, steps: Steps) -> None:
    """Begin with nothing: what was made before the process was forked is in the part of the other."""
    notes.graphs.clear()
    notes.eager.clear()
    notes.touches.clear()
    notes.ends.clear()
    steps.count = parts.count = 0
    parts.ended = "killed"
