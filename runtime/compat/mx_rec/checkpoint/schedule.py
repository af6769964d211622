"""Schedule of incremental checkpoints: when to save which kind, by the two periods of `init`."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from runtime.compat.mx_rec.checkpoint.model_index import BASE, DELTA
from runtime.compat.mx_rec.checkpoint.saver import Saver
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.compat.mx_rec.state import ConfigInitializer, state_of

_Timer: Any = tf.compat.v1.train.SecondOrStepTimer


class DueTimer(_Timer):  # type: ignore[misc]
    """Complete checkpoints and increments, each at its own period; the first and the last checkpoint are complete.

    If both are due, a complete one is saved, and the increments' period starts anew.
    """

    def __init__(self, base_secs: float, delta_secs: float, clock: Callable[[], float] = time.time) -> None:
        """Take the periods in seconds."""
        self.kind = BASE
        self._periods, self._clock = {BASE: base_secs, DELTA: delta_secs}, clock
        self._last: dict[str, float] = {}
        super().__init__(every_secs=delta_secs)

    def reset(self) -> None:
        """Restart both periods."""
        super().reset()
        self._last, self.kind = {}, BASE

    def should_trigger_for_step(self, step: int) -> bool:
        """Return whether a checkpoint is due, and set `kind`."""
        if self.last_triggered_step() is None:
            return True
        if self.last_triggered_step() == step:
            return False
        now = self._clock()
        due = [kind for kind, seconds in self._periods.items() if now >= self._last[kind] + seconds]
        self.kind = due[0] if due else BASE
        return bool(due)

    def update_last_triggered_step(self, step: int) -> tuple[float | None, int | None]:
        """Record that a checkpoint of `kind` was saved; return seconds and steps since the last one."""
        now = self._clock()
        self._last |= dict.fromkeys((BASE, DELTA) if self.kind == BASE else (DELTA,), now)
        elapsed: tuple[float | None, int | None] = super().update_last_triggered_step(step)
        return elapsed


def due_timer(every_steps: int | None) -> DueTimer | None:
    """Return the timer of this training; None if it has no incremental checkpoints.

    Raises:
        RanksError: several ranks would save by time (`every_steps` is None), and so at different steps.
    """
    if every_steps is None and state_of().lookups:
        rank_ids.refuse_several(
            "saving by seconds", "give RunConfig save_checkpoints_steps, MonitoredTrainingSession save_checkpoint_steps"
        )
    instance = ConfigInitializer._instance
    if instance is None or not instance.is_incremental_checkpoint:
        return None
    base_secs, delta_secs = instance.save_checkpoint_due_time, instance.save_delta_checkpoints_secs
    assert base_secs is not None  # `init` checks both
    assert delta_secs is not None
    return DueTimer(base_secs, delta_secs)


@contextlib.contextmanager
def saving(saver: Any, timer: Any) -> Iterator[None]:
    """Make a Saver write the kind of checkpoint that is due by a timer."""
    if not isinstance(timer, DueTimer) or not isinstance(saver, Saver):
        yield
        return
    saver.kind, timer.kind = timer.kind, BASE
    try:
        yield
    finally:
        saver.kind = None
