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
    """TensorFlow's Scaffold, with DeepRec's argument `incremental_save_restore`.

    A `local_init_op` of the program's own also initializes lookup tables, as the default one does: published programs
    leave that out, and could not run a step without it.
    """

    def __init__(self, *args: Any, incremental_save_restore: bool = False, **kwargs: Any) -> None:
        """Take the arguments of TensorFlow's; the hook that saves increments creates what it needs."""
        del incremental_save_restore
        super().__init__(*args, **kwargs)
        self._local_init: Any = None

    def finalize(self) -> Any:
        """Create what is lacking, and finalize the graph."""
        own_init = super().local_init_op
        if own_init is not None and not v1.get_default_graph().finalized:
            self._local_init = tf.group(own_init, v1.tables_initializer())
        return super().finalize()

    @property
    def local_init_op(self) -> Any:
        """The op that initializes local variables, and tables."""
        return super().local_init_op if self._local_init is None else self._local_init


class IncrementHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Saves an increment every so many seconds, and applies the last one to the checkpoint of a new session."""

    def __init__(self, checkpoint_dir: str, seconds: float, scaffold: Any, saver: Any, basename: str) -> None:
        """Take the directory of the complete checkpoints, and the object that has their Saver."""
        self._directory, self._seconds, self._scaffold, self._given = checkpoint_dir, seconds, scaffold, saver
        self._path = str(Path(checkpoint_dir) / FOLDER / f"incr-{basename}")
        self._saver: IncrementalSaver | None = None
        self._last = 0.0

    def begin(self) -> None:
        """Create the ops."""
        self._step = v1.train.get_or_create_global_step()
        self._saver = IncrementalSaver(self._whole_saver())

    def _whole_saver(self) -> Any:
        saver = self._given or (None if self._scaffold is None else self._scaffold.saver)
        if saver is None:
            known = v1.get_collection(v1.GraphKeys.SAVERS)
            saver = known[0] if known else Saver(sharded=True, allow_empty=True, defer_build=True)
            if not known:  # the collection in which a Scaffold looks for a Saver
                v1.add_to_collection(v1.GraphKeys.SAVERS, saver)
        return saver

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Apply the last increment if the session was restored from the last complete checkpoint."""
        assert self._saver is not None
        latest = tf.train.latest_checkpoint(self._directory)
        if latest is not None and latest.endswith(f"-{session.run(self._step)}"):
            self._saver.recover_incr_checkpoints(session, self._directory)
        self._last = time.time()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save an increment if it is time."""
        if time.time() < self._last + self._seconds:
            return
        assert self._saver is not None
        self._saver.incremental_save(run_context.session, self._path, self._step)
        self._last = time.time()


class CheckpointSaverHook(v1.train.CheckpointSaverHook):  # type: ignore[misc]
    """TensorFlow's hook, which also saves an increment every `incremental_save_secs` seconds between checkpoints."""

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
        """Take the arguments of TensorFlow's, and the seconds; with None, no increments are saved."""
        super().__init__(
            checkpoint_dir, save_secs, save_steps, saver, checkpoint_basename, scaffold, listeners, save_graph_def
        )
        self._increments = (
            None
            if incremental_save_secs is None
            else IncrementHook(checkpoint_dir, incremental_save_secs, scaffold, saver, checkpoint_basename)
        )

    def begin(self) -> None:
        """Create the ops."""
        super().begin()
        if self._increments is not None:
            self._increments.begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Apply the last increment, then save a complete checkpoint as TensorFlow's hook does."""
        if self._increments is not None:
            self._increments.after_create_session(session, coord)
        super().after_create_session(session, coord)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Save a checkpoint or an increment if it is time."""
        super().after_run(run_context, run_values)
        if self._increments is not None:
            self._increments.after_run(run_context, run_values)


def MonitoredTrainingSession(*args: Any, save_incremental_checkpoint_secs: float | None = None, **kwargs: Any) -> Any:
    """Return TensorFlow's MonitoredTrainingSession; with `save_incremental_checkpoint_secs`, it also saves increments.

    They are in `<checkpoint_dir>/.incremental_checkpoint`. A session that starts from the last complete checkpoint
    continues with the last increment that builds on it.

    Raises:
        ValueError: there is no `checkpoint_dir` for the increments.
    """
    if save_incremental_checkpoint_secs is None:
        return _Session(*args, **kwargs)
    named = dict(inspect.signature(_Session).bind(*args, **kwargs).arguments)
    if not named.get("checkpoint_dir"):
        raise ValueError("save_incremental_checkpoint_secs needs a checkpoint_dir for the increments: give it")
    named["scaffold"] = named.get("scaffold") or Scaffold()
    hook = IncrementHook(
        str(named["checkpoint_dir"]), save_incremental_checkpoint_secs, named["scaffold"], None, "model.ckpt"
    )
    # This hook comes first, so that the complete checkpoint saved at the start includes the increment.
    named["chief_only_hooks"] = [hook, *(named.get("chief_only_hooks") or ())]
    return _Session(**named)
