"""The Saver for v1 graphs on several ranks: for Estimator, MonitoredTrainingSession and plain sessions.

`<prefix>` is an ordinary checkpoint of what is equal on all ranks, by which TensorFlow finds the newest one; beside it
are the rows of each rank, named as in runtime.ranks.checkpoint_parts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.checkpoint.bundle import Bundle
from runtime.checkpoint.ranks.table_import import import_of
from runtime.embedding_variable.counted_anchor import CountedAnchor
from runtime.ranks import checkpoint_parts
from runtime.ranks.engine import RanksError
from runtime.ranks.process_group import current, parts_together
from runtime.table.anchor import GraphAnchor


class Saver(tf.compat.v1.train.Saver):  # type: ignore[misc]
    """A `tf.compat.v1.train.Saver` that every rank runs at the same steps, with the same path on a shared file system.

    It restores checkpoints of any number of ranks, and of a stock Saver in a single process. Create it when the graph
    has all its variables, as for `Scaffold(saver=Saver())`. Save by steps: saving by time (`save_checkpoints_secs`)
    would happen at different steps on different ranks.
    """

    def __init__(self, var_list: Any = None, **options: Any) -> None:
        """Take these variables, or all of the graph; `options` are those of TensorFlow's Saver.

        Raises:
            ValueError: there is nothing to save besides tables.
            RanksError: a variable holds this rank's rows of a matrix (runtime.compat.sok).
        """
        if var_list is None:
            collections = (tf.compat.v1.GraphKeys.GLOBAL_VARIABLES, tf.compat.v1.GraphKeys.SAVEABLE_OBJECTS)
            var_list = [one for name in collections for one in tf.compat.v1.get_collection(name)]
        every = list(var_list.values()) if isinstance(var_list, dict) else list(var_list)
        anchors = [one for one in every if isinstance(one, GraphAnchor)]
        own = [one.name for one in every if hasattr(one, "placement") and not isinstance(one, GraphAnchor)]
        if own and current().size > 1:
            raise RanksError(
                f"the sok.Variable `{own[0]}` has other rows on each rank, which this Saver cannot combine: leave "
                "it out of `var_list`, and save it with sok.Saver"
            )
        super().__init__(
            {name: one for name, one in var_list.items() if not isinstance(one, GraphAnchor)}
            if isinstance(var_list, dict)
            else [one for one in every if not isinstance(one, GraphAnchor)],
            **options,
        )
        self._padded = bool(options.get("pad_step_number"))
        with parts_together():
            self._rows = _Rows(anchors) if anchors else None
            self._imports = [import_of(anchor) for anchor in anchors]
        self._counted = [(one.table, one.table.slots) for one in anchors if isinstance(one, CountedAnchor)]

    def save(self, sess: Any, save_path: str, global_step: Any = None, *arguments: Any, **options: Any) -> str | None:
        """Save on all ranks; return the prefix, as TensorFlow's Saver does.

        Raises:
            RanksError: the Saver lacks the slots of an optimizer that was created after it.
        """
        self._require_slots()
        engine = current()
        prefix = save_path
        if global_step is not None:
            if not isinstance(global_step, (int, np.integer)):
                step = sess.graph.as_graph_element(global_step) if isinstance(global_step, str) else global_step
                global_step = tf.compat.v1.train.global_step(sess, step)
            prefix = f"{save_path}-{global_step:0{8 if self._padded else 0}d}"
        engine.barrier()  # other ranks may still be restoring the checkpoint of that name
        if engine.rank == 0:
            checkpoint_parts.unmark(prefix)
        engine.barrier()
        if self._rows is not None:
            self._rows.save(sess, checkpoint_parts.part_of(prefix, engine.rank, engine.size))
        engine.barrier()
        if engine.rank == 0:
            before = set(self.last_checkpoints)
            checkpoint_parts.mark_whole(prefix, engine.size, beside=True)
            super().save(sess, save_path, global_step, *arguments, **options)
            for old in before.difference(self.last_checkpoints):
                if not Path(f"{old}.index").exists():
                    checkpoint_parts.removed(old)
        engine.barrier()
        return prefix

    def restore(self, sess: Any, save_path: str) -> None:
        """Restore the variables, and of each table the rows that this rank holds.

        Raises:
            RanksError: there is no complete checkpoint of that name, or the Saver lacks an optimizer's slots.
            CheckpointError: a rank's file is missing, damaged or has no rows of a table; the message names it.
        """
        self._require_slots()
        super().restore(sess, save_path)
        bundles = [Bundle(save_path)]
        if not all(one.is_in(bundles[0]) for one in self._imports):
            bundles = [Bundle(part) for part in checkpoint_parts.parts_of(save_path)]
        for importer in self._imports:
            importer.run(sess, bundles)

    def _require_slots(self) -> None:
        """Refuse to leave out optimizer slots of a counted table, which are separate tables."""
        late = [table.table_name for table, slots in self._counted if table.slots != slots]
        if late:
            raise RanksError(
                f"this Saver was created before the optimizer of the counted table `{late[0]}` and lacks its slots: "
                "create the Saver after minimize() or apply_gradients()"
            )


class _Rows:
    """Saves the rows of tables; restoring them is done elsewhere."""

    def __init__(self, anchors: Sequence[GraphAnchor]) -> None:
        """Create the op."""
        specs = [spec for anchor in anchors for spec in anchor.specs]
        with tf.name_scope("rows_of_rank"), tf.device("/device:CPU:0"):
            self._path = tf.compat.v1.placeholder(tf.string, [], "path")
            self._op = tf.raw_ops.SaveV2(
                prefix=self._path,
                tensor_names=[spec.name for spec in specs],
                shape_and_slices=[spec.slice_spec for spec in specs],
                tensors=[spec.tensor for spec in specs],
            )

    def save(self, session: Any, path: str) -> None:
        """Write a checkpoint of only these tables."""
        session.run(self._op, {self._path: path})
