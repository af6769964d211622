"""Notes each training step: how long it takes, and the loss that it trains by; takes turns in between."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import os
import signal
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .noted import Noted
from .settings import Settings

if TYPE_CHECKING:
    from migrate.trace.child.sessions import Asked, Sessions

    from .buckets import Buckets
else:
    Sessions = importlib.import_module("_recmigrate_trace.sessions").Sessions
_Steps = importlib.import_module("_recmigrate_trace.steps").Steps


class Watched(Sessions):
    """The steps of this process."""

    hears_losses = True

    def __init__(self, settings: Settings, noted: Noted) -> None:
        super().__init__(_Steps(settings.steps, self._at_the_end), noted.faults)
        self._settings, self._noted = settings, noted
        self._turns = _Turns(settings)

    @functools.cached_property
    def _buckets(self) -> Buckets:
        from .buckets import Buckets  # which loads the rewriter: not where the program runs as it is

        return Buckets(self._noted)

    def is_own(self) -> bool:
        """Whether a run is one of ours, or of the rewriter's."""
        installed = self._noted.installed
        return super().is_own() or (installed is not None and installed.graphs._own)

    def begins(self) -> None:
        """Wait for the turn."""
        super().begins()
        self._turns.take(self.steps.count)

    def besides(self, graph: Any, asked: Asked) -> Any:
        """Return the ids of lookups, where this side looks at them."""
        return self._buckets.fetched(graph, asked) if self._settings.counts_ids else ()

    def ended(self, seconds: float, losses: Mapping[str, Any], graph: Any, asked: Asked, values: Any) -> None:
        """Note the step."""
        import numpy as np

        self._noted.step(seconds, {name: float(np.mean(value, dtype=np.float64)) for name, value in losses.items()})
        if values:
            self._buckets.note(graph, asked, values)

    def trained(self, model: Any) -> None:
        """Note how many of the optimizer's variables there are for one of the model's with this shape."""
        if not self._noted.slots:
            variables = getattr(model.optimizer, "variables", ())
            held = Counter(str(tuple(one.shape)) for one in (variables() if callable(variables) else variables))
            own = Counter(str(tuple(one.shape)) for one in model.weights)
            self._noted.slots = {shape: held[shape] // count for shape, count in own.items()}

    def _at_the_end(self, last: bool) -> None:
        """Write when the last step has been taken; `last` says that the process is ended at once."""
        if self.steps.count == self._settings.steps:
            self._turns.end()
            self._noted.write()
        if last:
            self._noted.finish()


class _Turns:
    """Stops this side, with all its processes, after each of its turns; the command lets it go on.

    The process of a side that first takes a step is the one that does.
    """

    def __init__(self, settings: Settings) -> None:
        self._block, self._side = settings.block, settings.side
        self._alive = -1  #: a pipe that the command holds open
        self._leads: bool | None = None

    def take(self, step: int) -> None:
        """Wait before the first step of a block."""
        if not self._block or step % self._block:
            return
        if self._leads is None:
            self._leads = self._begin()
        if self._leads:
            with contextlib.suppress(BlockingIOError):
                os.read(self._alive, 1)
                os._exit(1)  # the command was killed: this program is a part of its trial
            os.killpg(0, signal.SIGSTOP)

    def end(self) -> None:
        """Take no more turns: no more steps follow."""
        self._leads = False

    def _begin(self) -> bool:
        try:
            os.close(os.open(os.path.join(self._side, "leads"), os.O_CREAT | os.O_EXCL))  # noqa: PTH118
            self._alive = os.open(os.path.join(self._side, "alive"), os.O_RDONLY | os.O_NONBLOCK)  # noqa: PTH118
            with open(os.path.join(self._side, "group"), encoding="utf-8") as group:  # noqa: PTH118, PTH123
                leads = int(group.read()) == os.getpgrp()  # a process that left it cannot stop for it
        except OSError:
            return False
        if os.getpid() == os.getpgrp():
            _end_with_parent()
        return leads


def _end_with_parent() -> None:
    """Let the kernel end this process with the command that started it, even where it has stopped itself."""
    set_signal_of_parents_death = 1
    with contextlib.suppress(AttributeError, OSError):
        ctypes.CDLL(None).prctl(set_signal_of_parents_death, signal.SIGKILL)
