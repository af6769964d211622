"""DeepRec's incremental checkpoints: a `Saver`, and the `IncrementalSaver` that belongs to it.

Complete checkpoints are TensorFlow's. An increment is a bundle of its own, by default in the directory
`.incremental_checkpoint` beside them, with the rows of EmbeddingVariables that changed since the last complete
checkpoint, and all other variables. It records which complete checkpoint it builds on, so that it is never applied to
another, and whether it has every row, as it does until the session has saved a complete checkpoint itself.
"""

from __future__ import annotations

import contextlib
import logging
import weakref
from collections.abc import Mapping
from numbers import Integral
from pathlib import Path
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.checkpoint import backup
from runtime.checkpoint.bundle import CheckpointError
from runtime.checkpoint.increments import index_crc
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.embedding_variable.increments import ChangedRows

v1: Any = tf.compat.v1
_log = logging.getLogger("runtime")
#: Directory of increments, inside that of the complete checkpoints.
FOLDER = ".incremental_checkpoint"
_BASE = "incremental_checkpoint_base"
#: The Savers whose ops are there.
_built: weakref.WeakKeyDictionary[Saver, None] = weakref.WeakKeyDictionary()
#: Marks whether an increment has every row or the changes.
_EVERYTHING, _CHANGES = "everything", "changes"


class Saver(v1.train.Saver):  # type: ignore[misc]
    """TensorFlow's Saver with DeepRec's arguments; an `IncrementalSaver` builds on what it saved last."""

    _is_built: bool
    saver_def: Any

    def __init__(
        self,
        var_list: Any = None,
        *args: Any,
        incremental_save_restore: bool = False,
        incremental_include_normal_var: bool = False,
        **kwargs: Any,
    ) -> None:
        """Take the arguments of TensorFlow's Saver.

        `incremental_save_restore` has no effect by itself: an `IncrementalSaver` writes increments. They have all other
        variables, as if `incremental_include_normal_var` was always true.
        """
        del incremental_save_restore, incremental_include_normal_var
        self.items = var_list
        self.noted_by: IncrementalSaver | None = None
        self._built_with: list[Any] = []
        super().__init__(var_list, *args, **kwargs)

    def build(self) -> None:
        """Create the ops, or create them again if an optimizer has added slots to EmbeddingVariables since."""
        if self._is_built and self._built_with != self.slots():
            self.saver_def, self._is_built = None, False
        super().build()
        self._built_with = self.slots()
        if self.saver_def is not None and self._builder is not None:
            _built[self] = None
            self._builder.filename_tensor = self.saver_def.filename_tensor_name  # for `IncrementalSaver.build`

    def slots(self) -> list[Any]:
        """Return the current slots of each EmbeddingVariable that is saved."""
        items = self._var_list or []
        saved = items.values() if isinstance(items, Mapping) else items
        return [item.table.slots for item in saved if isinstance(item, CountedAnchor)]

    def require_slots(self, graph: Any) -> None:
        """Create the ops again if there are slots that they do not save.

        Raises:
            RuntimeError: the graph is final.
        """
        if not self._is_built or self._built_with == self.slots():
            return
        if graph.finalized:
            raise RuntimeError(
                "this Saver was created before the optimizer and lacks the slots of its EmbeddingVariables, and the "
                "graph is final: create the Saver after minimize(), or call its build() before the graph is final"
            )
        with graph.as_default():
            self.build()

    def save(self, sess: Any, save_path: Any, *args: Any, **kwargs: Any) -> str:
        """Write a complete checkpoint; arguments and result are those of TensorFlow's Saver."""
        if sess is not None:
            self.require_slots(sess.graph)
        if self.noted_by is None:
            return str(super().save(sess, save_path, *args, **kwargs))
        with self.noted_by.noting(sess) as session:
            path = str(super().save(session, save_path, *args, **kwargs))
        self.noted_by.note(sess, path)
        return path

    def restore(self, sess: Any, save_path: Any) -> None:
        """Restore a complete checkpoint, as TensorFlow's Saver does."""
        if sess is not None and not sess.graph.finalized:  # in a final graph, restoring without slots may be intended
            self.require_slots(sess.graph)
        super().restore(sess, save_path)
        if self.noted_by is not None:
            self.noted_by.build_on(sess, str(save_path))


class IncrementalSaver:
    """Saves the changes since the last complete checkpoint of a `Saver`, and restores both together.

    It keeps 16 bytes per row in memory. Every increment has all changes since the complete checkpoint, so only the last
    one is needed; the last two are kept.
    """

    def __init__(
        self,
        saver: Saver | None = None,
        sharded: bool = False,
        allow_empty: bool = False,
        saver_def: Any = None,
        defer_build: bool = False,
        incremental_include_normal_var: bool = False,
    ) -> None:
        """Create the ops in the current v1 graph before it is final, and again if an optimizer adds slots later.

        The Saver can be given by its `saver_def`; what else DeepRec's constructor takes has no effect.

        Raises:
            TypeError: `saver` is not a Saver of this module, or there is none with this `saver_def`.
        """
        del sharded, allow_empty, defer_build, incremental_include_normal_var
        if saver is None and saver_def is not None:
            saver = next((one for one in _built if one.saver_def is saver_def), None)
        if not isinstance(saver, Saver):
            raise TypeError(
                f"incremental checkpoints need tf.train.Saver as installed by runtime.compat.deeprec.install(), not "
                f"{type(saver).__module__}.{type(saver).__name__}: create the Saver after install()"
            )
        saver.noted_by = self
        self._saver = saver
        self._noted: Any = None
        #: Session, name and CRC of the last complete checkpoint, and keys and fingerprints of its rows if it was saved
        #: here.
        self._last: tuple[Any, str, int, list[Any] | None] | None = None
        self._make()

    def build(self, filename_tensor: Any = None) -> None:
        """Do nothing: the ops are there."""
        del filename_tensor

    def _make(self) -> None:
        self._saver.build()
        self._made_with = self._saver.slots()
        items = self._saver.items
        if items is None:
            items = [*v1.global_variables(), *v1.get_collection(v1.GraphKeys.SAVEABLE_OBJECTS)]
        with tf.name_scope("incr_save/"), tf.device("/device:CPU:0"):
            self._whole = v1.placeholder(tf.string, [], name="whole")
            self._base = v1.placeholder_with_default(tf.constant(["", "", _EVERYTHING]), [3], name="base")
            self._complete = v1.placeholder(tf.bool, [], name="complete")
        saved = items.values() if isinstance(items, Mapping) else items
        tables = [item for item in saved if isinstance(item, CountedAnchor)]
        self._rows = {id(item): ChangedRows(item, self._whole, self._complete) for item in tables}
        self._increments = v1.train.Saver(self._replaced(items), max_to_keep=0, name="incr_save")

    def _require_slots(self, graph: Any) -> None:
        self._saver.require_slots(graph)
        if self._made_with != self._saver.slots():
            with graph.as_default():
                self._make()

    def _replaced(self, items: Any) -> Any:
        base = _Text(self._base, _BASE)
        if isinstance(items, Mapping):
            return {name: self._rows.get(id(item), item) for name, item in items.items()} | {_BASE: base}
        return [*(self._rows.get(id(item), item) for item in items), base]

    @contextlib.contextmanager
    def noting(self, session: Any) -> Any:
        """Return a wrapped session that also fetches the baseline in the run that saves."""
        self._require_slots(session.graph)
        self._noted = None
        yield _Noting(session, self)

    def run_and_note(self, session: Any, fetches: Any, feeds: Any) -> Any:
        """Run a fetch; in the run that saves, also fetch the fingerprints of the same snapshot."""
        if fetches != self._saver.saver_def.save_tensor_name:
            return session.run(fetches, feeds)
        for rows in self._rows.values():
            feeds = {**feeds, **rows.feeds(None)}
        self._noted, result = session.run([[rows.noted for rows in self._rows.values()], fetches], feeds)
        return result

    def note(self, session: Any, path: str) -> None:
        """Record the saved checkpoint as the one that increments of `session` build on."""
        self._last = (weakref.ref(session), Path(path).name, index_crc(Path(path)), self._noted)

    def build_on(self, session: Any, path: str) -> None:
        """Let increments of `session` build on the checkpoint that it restored, unless it has saved one itself."""
        if Path(f"{path}.index").exists() and (self._last is None or self._last[0]() is not session):
            self._last = (weakref.ref(session), Path(path).name, index_crc(Path(path)), None)

    def incremental_save(
        self,
        sess: Any,
        save_path: Any,
        global_step: Any = None,
        meta_graph_suffix: str = "meta",
        write_state: bool = True,
    ) -> str:
        """Write the increment `<save_path>-<global_step>` and return its path.

        If this session has not saved a complete checkpoint yet, the increment has every row. It belongs to the
        checkpoint that the session restored, or to none.
        """
        del meta_graph_suffix
        self._require_slots(sess.graph)
        path = str(save_path)
        if global_step is not None:
            number = global_step if isinstance(global_step, Integral) else v1.train.global_step(sess, global_step)
            path = f"{path}-{int(number)}"
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        backup.set_aside(Path(path))
        last = self._last if self._last is not None and self._last[0]() is sess else None
        definition = self._increments.as_saver_def()
        feeds: dict[Any, Any] = {definition.filename_tensor_name: path}
        if last is not None:
            feeds[self._base] = [last[1], str(last[2]), _EVERYTHING if last[3] is None else _CHANGES]
        noted = None if last is None else last[3]
        for number, rows in enumerate(self._rows.values()):
            feeds |= rows.feeds(None if noted is None else noted[number])
        sess.run(definition.save_tensor_name, feeds)
        _keep(Path(path), write_state)
        return path

    def incremental_restore(self, sess: Any, save_path: Any, incr_save_path: Any) -> None:
        """Restore the complete checkpoint `save_path` with the changes of the increment `incr_save_path`.

        An increment with every row replaces all rows; one that belongs to no checkpoint fits any.

        Raises:
            CheckpointError: the increment builds on another checkpoint.
        """
        self._require_slots(sess.graph)
        whole = Path(str(save_path))
        name, _, complete = _base(str(incr_save_path))
        if name and not _fits(str(incr_save_path), whole):
            raise CheckpointError(
                f"the increment {incr_save_path} builds on another checkpoint than {whole}: restore it with the one "
                f"that its tensor `{_BASE}` names, or restore {whole} alone"
            )
        definition = self._increments.as_saver_def()
        feeds = {definition.filename_tensor_name: str(incr_save_path), self._whole: str(whole)}
        sess.run(definition.restore_op_name, feeds | {self._complete: complete})
        self.build_on(sess, str(whole))

    def recover_incr_checkpoints(self, sess: Any, checkpoint_dir: Any) -> str | None:
        """Apply the last increment in a directory to the last complete checkpoint, and return the increment's path.

        The session's state is replaced; nothing happens if no increment is later than the checkpoint. An increment that
        belongs to another checkpoint, or to none, is ignored with a warning.
        """
        whole = tf.train.latest_checkpoint(str(checkpoint_dir))
        state = tf.train.get_checkpoint_state(str(Path(str(checkpoint_dir)) / FOLDER))
        if whole is None or state is None:
            return None
        for path in reversed(state.all_model_checkpoint_paths):
            if not tf.compat.v1.train.checkpoint_exists(path) or _step(path) <= _step(whole):
                continue
            if _fits(path, Path(whole)):
                self.incremental_restore(sess, whole, path)
                return str(path)
            _log.warning("the increment %s is ignored, because it does not belong to the checkpoint %s", path, whole)
        return None


def _get_incremental_saver(incremental_save_restore: bool, full_saver: Saver) -> IncrementalSaver | None:
    """Return the saver for increments of `full_saver`, or None; programs for DeepRec import this name."""
    return IncrementalSaver(full_saver) if incremental_save_restore else None


class _Noting(_tf_private.SessionInterface):  # type: ignore[misc]
    """A wrapped session for one `Saver.save`."""

    def __init__(self, session: Any, owner: IncrementalSaver) -> None:
        self._session, self._owner = session, owner

    @property
    def graph(self) -> Any:
        """The graph of the session."""
        return self._session.graph

    def run(self, fetches: Any, feed_dict: Any = None, options: Any = None, run_metadata: Any = None) -> Any:
        """Run as the session does."""
        del options, run_metadata
        return self._owner.run_and_note(self._session, fetches, feed_dict or {})


class _Text(_tf_private.SaveableObject):  # type: ignore[misc]
    """A tensor that is saved but not restored."""

    def __init__(self, tensor: tf.Tensor, name: str) -> None:
        super().__init__(tensor, [_tf_private.SaveSpec(tensor, "", name, device="/device:CPU:0")], name)

    def restore(self, restored_tensors: Any, restored_shapes: Any) -> tf.Operation:
        return tf.no_op()


def _fits(increment: str, whole: Path) -> bool:
    """Whether an increment belongs to this checkpoint."""
    name, crc, _ = _base(increment)
    return name == whole.name and crc == str(index_crc(whole))


def _base(increment: str) -> tuple[str, str, bool]:
    """Return name and CRC (or empty) of the checkpoint that an increment belongs to, and whether it has all rows."""
    name, crc, *holds = (part.decode() for part in tf.train.load_variable(increment, _BASE))
    return name, crc, not name or holds == [_EVERYTHING]


def _keep(path: Path, write_state: bool) -> None:
    """Record an increment as the last one in its directory, and remove all but the last two."""
    others = backup.on_disk(path)
    for other in others:
        backup.rename_in_state(path.parent, None, other, path.name)
    if write_state:
        before = [name for name in backup.named(path.parent) if name != path.name]
        kept = [str(path.parent / name) for name in (*before[-1:], path.name)]
        v1.train.update_checkpoint_state(str(path.parent), kept[-1], kept)
        others += before[:-1]
    for other in others:
        backup.remove_bundle(path.parent / other)


def _step(path: str) -> int:
    """Return the number at the end of a checkpoint's name, or -1."""
    number = path.rpartition("-")[2]
    return int(number) if number.isdigit() else -1
