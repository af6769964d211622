"""Saves a model after each epoch, and goes on from what was saved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1
_NAME = "model.ckpt"


class Checkpoints:
    """The checkpoints of a folder, `model.ckpt-NUMBER` after so many epochs; none without a folder."""

    def __init__(self, folder: str | None) -> None:
        """Add the ops that save all variables of the graph."""
        self._folder = None if folder is None else Path(folder)
        self._saver = None if folder is None else v1.train.Saver()

    def restore(self, session: Any) -> int:
        """Restore the latest one, if there is any; return how many epochs it has behind it, 0 if it does not say."""
        if self._saver is None or self._folder is None:
            return 0
        self._folder.mkdir(parents=True, exist_ok=True)
        latest = tf.train.latest_checkpoint(str(self._folder))
        if latest is None:
            return 0
        self._saver.restore(session, latest)
        number = latest.rpartition("-")[2]
        return int(number) if number.isdigit() else 0

    def save(self, session: Any, epochs: int) -> None:
        """Save what the session has after so many epochs."""
        if self._saver is not None and self._folder is not None:
            self._saver.save(session, str(self._folder / _NAME), global_step=epochs)
