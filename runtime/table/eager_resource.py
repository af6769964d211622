"""The resource of an eager table: a native table that lives as long as this object, with its order in `tf.function`.

The native table's handle is in a small resource variable. A `tf.function` captures that variable instead of the number,
so a SavedModel finds the table of the process that loads it, and TensorFlow's automatic control dependencies know who
reads and who writes the table: lookups are reads, updates and imports are writes. So a lookup runs after earlier
updates also across `tf.cond`, `tf.while_loop` and inner functions, and lookups of different tables run in parallel.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from runtime import _tf_private, native
from runtime.ranks.process_group import refuse_a_part, saves_the_same

_instances = itertools.count()
_PARTS = ("keys", "values", "slots", "meta")


class TableResource(tf.saved_model.experimental.TrackableResource):  # type: ignore[misc]
    """Owns one native table; checkpoints and SavedModels save its rows, and loading a SavedModel creates it anew."""

    def __init__(self, attributes: Mapping[str, Any], dim: int, is_save: bool) -> None:
        """Create the table; `attributes` are those of RecTableCreate."""
        super().__init__(device="/device:CPU:0")
        self._attributes = dict(attributes)
        self._dim, self._is_save = dim, is_save
        #: How checkpoints save and restore the rows; None: all rows (runtime.checkpoint sets it for increments).
        self.saved_as: Any = None
        #: Gives what is told the keys of restored rows, and may raise.
        self.restored: Callable[[], Callable[[Any], object] | None] = lambda: None
        self._shared_name = f"recmigrate_{attributes['table_name']}_{next(_instances)}"
        self._initialize()

    @property
    def handle(self) -> tf.Tensor:
        """The handle as an int64 scalar of the current context."""
        return tf.raw_ops.ReadVariableOp(resource=self.resource_handle, dtype=tf.int64)

    @contextmanager
    def written(self) -> Iterator[None]:
        """Treat ops built inside as writes: for a function call, only its use of resources is visible."""
        handle = self.handle
        yield
        if not tf.executing_eagerly():
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=handle)

    def _create_resource(self) -> tf.Tensor:
        return tf.raw_ops.VarHandleOp(dtype=tf.int64, shape=[], shared_name=self._shared_name)

    def _initialize(self) -> None:
        """Create the native table, unless a restore (which comes first when a SavedModel is loaded) has created it."""

        def make() -> tf.Tensor:
            handle = native.ops().rec_table_create(**self._attributes)
            tf.raw_ops.AssignVariableOp(resource=self.resource_handle, value=handle)
            return tf.constant(True)

        tf.cond(tf.raw_ops.VarIsInitializedOp(resource=self.resource_handle), lambda: tf.constant(False), make)

    def _destroy_resource(self) -> None:
        _destroy(self.resource_handle)

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        if not self._is_save:
            return {}
        refuse_a_part(self._attributes["table_name"])
        self._initialize()  # a SavedModel that is being loaded first asks what it is to restore
        if self.saved_as is not None:
            tensors: dict[str, tf.Tensor] = self.saved_as.tensors(self.handle)
            return tensors
        return dict(zip(_PARTS, native.ops().rec_table_snapshot(self.handle, base=saves_the_same()), strict=True))

    def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> None:
        if restored:
            self._initialize()
            with self.written():
                self._check_width(restored)
                listener = self.restored()
                if listener is not None and "keys" in restored and tf.executing_eagerly():
                    listener(restored["keys"].numpy())
                if self.saved_as is not None:
                    self.saved_as.restore(self.handle, restored)
                else:
                    native.ops().rec_table_import(self.handle, *(restored[part] for part in _PARTS))

    def _check_width(self, restored: Mapping[str, tf.Tensor]) -> None:
        for part, rows in restored.items():
            if part.endswith("values"):
                message = (
                    f"the checkpoint's rows of the table `{self._attributes['table_name']}` are not of width "
                    f"{self._dim}: create the table with the dim it was saved with"
                )
                tf.debugging.assert_equal(tf.shape(rows)[1], self._dim, message=message)

    def _copy_trackable_to_cpu(self, object_map: MutableMapping[Any, Any]) -> None:
        """Copy the current rows: an asynchronous tf.train.Checkpoint writes them later, in its own thread."""
        rows = self._serialize_to_tensors()
        if self not in object_map:
            object_map[self] = _Noted(rows)
        else:
            object_map[self].note(rows)


def _destroy(resource: tf.Tensor) -> None:
    native.ops().rec_table_destroy(tf.raw_ops.ReadVariableOp(resource=resource, dtype=tf.int64))
    tf.raw_ops.DestroyResourceOp(resource=resource, ignore_lookup_error=True)


class _Noted(_tf_private.Trackable):  # type: ignore[misc]
    """The rows of a table at the time when an asynchronous checkpoint was requested."""

    def __init__(self, rows: Mapping[str, tf.Tensor]) -> None:
        # TensorFlow copies eagerly at the first save, later in a tf.function, which can only access variables.
        self._parts = {
            part: tf.Variable(tensor, trainable=False, shape=tf.TensorShape(None)) for part, tensor in rows.items()
        }

    def note(self, rows: Mapping[str, tf.Tensor]) -> None:
        """Replace the copy of an earlier save."""
        for part, tensor in rows.items():
            self._parts[part].assign(tensor)

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return {part: variable.read_value() for part, variable in self._parts.items()}


_tf_private.keep_loaded_resources_when_saved(TableResource)
_tf_private.keep_loaded_resources_with_functions("RecTableDestroy", _destroy)

# Lookups that insert need no order among each other, because a new row is a function of its key.
_tf_private.order_by_handle(
    "Rec",
    reads={
        "RecLookup",
        "RecLookupOrInsert",
        "RecLookupAdmitted",
        "RecLookupGroup",
        "RecLookupOrInsertGroup",
        "RecPooledLookup",
        "RecPooledLookupOrInsert",
        "RecPooledGradient",
        "RecTrainedBy",
        "RecPooledLookupGroup",
        "RecPooledLookupOrInsertGroup",
        "RecPooledGradientGroup",
    },
)
