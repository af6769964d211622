"""Incremental checkpoints in training loops: DeepRec's arguments of MonitoredTrainingSession, Scaffold and hooks."""

from __future__ import annotations

import inspect
import time
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime.compat.deeprec.incremental import FOLDER, IncrementalSaver, Saver

__all__ = ["CheckpointSaverHook", "MonitoredTrainingSession", "Scaffold"]

v1: Any = tf.compat.v1
_Session = v1.train.MonitoredTrainingSession


class Scaffold(v1.train.Scaffold):  # type: ignore[misc]
    """TensorFlow's Scaffold, which takes DeepRec's `incremental_save_restore`."""

    def __init__(self, *args: Any, incremental_save_restore: bool = False, **kwargs: Any) -> None:
        """Take the arguments of TensorFlow's; a hook that saves increments makes what they need."""
        del incremental_save_restore
        super().__init__(*args, **kwargs)


class IncrementHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Saves an increment every so many seconds, and adds the last one to the checkpoint that a session begins with."""

    def __init__(self, checkpoint_dir: str, seconds: float, scaffold: Any, saver: Any, basename: str) -> None:
        """Take the folder of the whole checkpoints and who has the Saver of them."""
        self._directory, self._seconds, self._scaffold, self._given = checkpoint_dir, seconds, scaffold, saver
        self._path = str(Path(checkpoint_dir) / FOLDER / f"incr-{basename}")
        self._saver: IncrementalSaver | None = None
        self._last = 0.0

    def begin(self) -> None:
        """Make the ops."""
        self._step = v1.train.get_or_create_global_step()
        self._saver = IncrementalSaver(self._whole_saver())

    def _whole_saver(self) -> Any:
        found = self._given or (None if self._scaffold is None else self._scaffold.saver)
        if found is None:
            known = v1.get_collection(v1.GraphKeys.SAVERS)
            found = known[0] if known else Saver(sharded=True, allow_empty=True, defer_build=True)
            if not known:  # where a Scaffold looks for one
                v1.add_to_collection(v1.GraphKeys.SAVERS, found)
        return found

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Go on from the last increment where the session was restored from the last whole checkpoint."""
        assert self._saver is not None
        latest = tf.train.latest_checkpoint(self._directory)
        if latest is not None and latest.endswith(f"-{session.run(self._step)}"):
            self._saver.recover_incr_checkpoints(session, self._directory)
        self._last = time.time()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save when it is time."""
        if time.time() < self._last + self._seconds:
            return
        assert self._saver is not None
        self._saver.incremental_save(run_context.session, self._path, self._step)
        self._last = time.time()


class CheckpointSaverHook(v1.train.CheckpointSaverHook):  # type: ignore[misc]
    """TensorFlow's hook, which between checkpoints saves an increment every `incremental_save_secs` seconds."""

    def __init__(
        self,
        checkpoint_dir: str,
        save_secs: Any = None,
        save_steps: Any = None,
        saver: Any = None,
        checkpoint_basename: str = "model.ckpt",
        scaffold: Any = None,
        listeners: Any = None,
        save_graph_def: bool = True,
        incremental_save_secs: float | None = None,
    ) -> None:
        """Take the arguments of TensorFlow's, and the seconds; None saves no increments."""
        super().__init__(
            checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold, listeners, save_graph_def
        )
        self._increments = (
            None
            if incremental_save_secs is None
            else IncrementHook(checkpoint_dir, incremental_save_secs, scaffold, saver, checkpoint_basename)
        )

    def begin(self) -> None:
        """Make the ops."""
        super().begin()
        if self._increments is not None:
            self._increments.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Add the last increment, then save a whole checkpoint as TensorFlow's hook does."""
        if self._increments is not None:
            self._increments.after_create_session(session, coord)
        super().after_create_session(session, coord)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save what it is time for."""
        super().after_run(run_context, run_values)
        if self._increments is not None:
            self._increments.after_run(run_context, run_values)


def MonitoredTrainingSession(*args: Any, save_incremental_checkpoint_secs: float | None = None, **kwargs: Any) -> Any:
    """Return TensorFlow's MonitoredTrainingSession; with `save_incremental_checkpoint_secs` it saves increments, too.

    They lie in `<checkpoint_dir>/.incremental_checkpoint`. A session that begins with the last whole checkpoint goes on
    from the last increment that builds on it.

    Raises:
        ValueError: increments without a `checkpoint_dir`.
    """
    if save_incremental_checkpoint_secs is None:
        return _Session(*args, **kwargs)
    named = dict(inspect.signature(_Session).bind(*args, **kwargs).arguments)
    if not named.get("checkpoint_dir"):
        raise ValueError("save_incremental_checkpoint_secs needs a checkpoint_dir, which they lie in: give it")
    named["scaffold"] = named.get("scaffold") or Scaffold()
    hook = IncrementHook(
        str(named["checkpoint_dir"]), save_incremental_checkpoint_secs, named["scaffold"], None, "model.ckpt"
    )
    # Those come first: the whole checkpoint that is saved at the beginning then holds what the increment brought.
    named["chief_only_hooks"] = [hook, *(named.get("chief_only_hooks") or ())]
    return _Session(**named)
