"""Enters a process of the program: notes its graphs, and ends it after the steps that were asked for."""

from __future__ import annotations

import atexit
import contextlib
import importlib
import os
import signal
import sys
from types import FrameType
from typing import Any

from . import keras_steps
from .keras_layers import Layers
from .parts import Parts
from .program import Program
from .sessions import Sessions
from .settings import Settings
from .steps import Steps
from .tape_steps import TapeSteps


def enter(settings: dict[str, Any]) -> None:
    """Trace this process; TensorFlow has just been imported."""
    importlib.import_module("_recmigrate_kept_code").keep_code()  # before there are ops, whose stacks are recorded
    own = Settings(**settings["trace"])
    parts = Parts(own, settings["parts"], Program(own.root))

    def counted(last: bool) -> None:
        parts.count = steps.count
        if steps.is_over:
            parts.ended = f"after {steps.count} steps"
        if last:
            parts.end()
        elif not steps.is_over:
            parts.from_time_to_time()

    steps = Steps(own.steps, counted)
    sessions = _Noted(steps, parts)
    with sessions.unharmed():  # a version of TensorFlow may lack what is watched
        sessions.install()
        keras_steps.install(sessions)
        TapeSteps(sessions).install()
        Layers(parts.program, sessions, parts.layers).install()
    _write_at_the_end(parts)
    os.register_at_fork(after_in_child=lambda: _forked(parts, steps))


class _Noted(Sessions):
    """Notes the graphs of which something is fetched."""

    def __init__(self, steps: Steps, parts: Parts) -> None:
        super().__init__(steps, parts.faults)
        self._parts = parts

    def looked(self, graph: Any) -> None:
        """Keep the graph alive: a new one may else have its id."""
        self._parts.graphs.setdefault(id(graph), graph)


def _write_at_the_end(parts: Parts) -> None:
    def ended(how: str) -> None:
        if parts.ended in ("killed", ""):
            parts.ended = how

    before = sys.excepthook

    def failed(kind: type[BaseException], error: BaseException, trace: Any) -> None:
        parts.ended = f"by {kind.__name__}"
        before(kind, error, trace)

    def on_signal(number: int, _frame: FrameType | None) -> None:
        ended(f"by {signal.Signals(number).name}")
        parts.write()
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    sys.excepthook = failed
    atexit.register(parts.end)
    atexit.register(ended, "by itself")  # runs first
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        with contextlib.suppress(ValueError):  # TensorFlow was imported by another thread than the main one
            signal.signal(signal.SIGTERM, on_signal)


def _forked(parts: Parts, steps: Steps) -> None:
    """Begin with nothing: what was made before the process was forked is in the part of the other."""
    parts.graphs.clear()
    parts.layers.clear()
    steps.count = parts.count = 0
    parts.ended = "killed"
