"""The private names of TensorFlow by which `rewriter.install` sees checkpoints; a test guards each."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import tensorflow as tf
from tensorflow.python.framework import meta_graph, ops
from tensorflow.python.ops import gen_checkpoint_ops, io_ops
from tensorflow.python.ops.variables import PartitionedVariable
from tensorflow.python.training import py_checkpoint_reader
from tensorflow.python.training.saving import saveable_object_util

from rewriter._tf_private_sessions import Wraps, graph_of

_BUILDER = tf.compat.v1.saved_model.Builder


@contextlib.contextmanager
def contexts_without(graph: tf.Graph, added: Collection[str]) -> Iterator[None]:
    """Let v1 loops and branches list no values of the ops `added`, as those of a graph that has none of them."""
    pending: list[Any] = [*graph.get_collection("while_context"), *graph.get_collection("cond_context")]
    with contextlib.ExitStack() as undo:
        while pending:
            context = pending.pop()
            pending += context._nested_contexts
            values, external = context._values, context._external_values
            undo.callback(context.__dict__.update, _values=values, _external_values=external)
            context._values = {name for name in values if name.partition(":")[0] not in added}
            context._external_values = {
                name: tensor
                for name, tensor in external.items()
                if name.partition(":")[0] not in added and tensor.op.name not in added
            }
        yield


class Stored(NamedTuple):
    """What a checkpoint's reader says by itself."""

    tensor: Callable[[str], Any]
    shapes: Callable[[], dict[str, list[int]]]
    types: Callable[[], dict[str, tf.DType]]
    has: Callable[[str], bool]


@dataclass
class _Export:
    """What exports now: a SavedModel's builder, which has a Saver do it, or a Saver alone."""

    builder: Any = None
    saver: Any = None
    is_stock: bool = False  #: a Saver that was made for the builder saves variables alone


def watch_savers(wraps: Wraps, watcher: Any) -> None:
    """Let `watcher`, a `Graphs`, say what Savers save and restore in the place of variables that became tables."""

    def listed(original: Any, op_list: Any, *arguments: Any, **named: Any) -> Any:
        graph, items, export = graph_of(op_list), list(op_list), exporter.get() or _Export()
        if graph is None:
            return original(op_list, *arguments, **named)
        export.is_stock |= export.builder is not None and watcher.exports_variables(graph)
        rest, instead = watcher.late_uses(graph).saved(items, export.is_stock)
        return {**original(rest, *arguments, **named), **instead}

    def saved(original: Any, op: Any, name: str) -> Any:
        slices = isinstance(op, list | tuple | PartitionedVariable)
        items = list(op) if slices else [op]
        graph = graph_of(items)
        instead = None if graph is None else watcher.late_uses(graph).saveables(items, name, slices)
        yield from original(op, name) if instead is None else instead

    exporter: ContextVar[_Export | None] = ContextVar("exporter", default=None)

    def exports(original: Any, self: Any, *arguments: Any, **named: Any) -> Any:
        export = exporter.get() or _Export()
        before = exporter.set(_Export(self) if isinstance(self, _BUILDER) else replace(export, saver=self))
        try:
            return original(self, *arguments, **named)
        finally:
            exporter.reset(before)

    def exported(original: Any, *arguments: Any, **named: Any) -> Any:
        graph, scope = named.get("graph") or ops.get_default_graph(), named.get("export_scope")
        export = exporter.get() or _Export()
        has_tables = export.builder is not None and not export.is_stock
        if scope or arguments or has_tables or not isinstance(graph, ops.Graph):
            return original(*arguments, **named)
        definition, saver = named.get("graph_def") or graph.as_graph_def(add_shapes=True), named.get("saver_def")
        with watcher.exporting(graph, definition) as changed:
            if changed is not None and saver is not None and not _has(changed, saver):
                changed, saver = _with_saver(changed, export.saver)
            if changed is not None:
                return original(**{**named, "graph_def": changed, "saver_def": saver})
        return original(**named)

    for name in ("add_meta_graph", "add_meta_graph_and_variables"):
        wraps.wrap(_BUILDER, name, exports)
    wraps.wrap(tf.compat.v1.train.Saver, "export_meta_graph", exports)
    wraps.wrap(meta_graph, "export_scoped_meta_graph", exported)
    wraps.wrap(saveable_object_util, "op_list_to_dict", listed)
    wraps.wrap(saveable_object_util, "saveable_objects_for_op", saved)


def _has(definition: Any, saver: Any) -> bool:
    """Whether a GraphDef has the ops of a SaverDef."""
    names = (saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name)
    return {name.partition(":")[0] for name in names} <= {node.name for node in definition.node}


def _with_saver(definition: Any, saver: Any) -> tuple[Any, Any]:
    """Return the GraphDef of the original with the ops that a Saver of its own would have added, and its SaverDef.

    The GraphDef is None where they cannot be made, as for a saveable object of the program.
    """
    read = ops.get_from_proto_function(tf.compat.v1.GraphKeys.GLOBAL_VARIABLES)

    def original(item: Any) -> Any:
        several = isinstance(item, Sequence | PartitionedVariable)
        return [*map(original, item)] if several else read(item.to_proto(), "")

    try:
        items = saver._var_list
        with tf.Graph().as_default() as graph:
            tf.import_graph_def(definition, name="")
            own_saver = tf.compat.v1.train.Saver(
                {name: original(one) for name, one in items.items()} if isinstance(items, dict) else original(items),
                *(saver._reshape, saver._sharded, saver._max_to_keep, saver._keep_checkpoint_every_n_hours),
                *(saver._name, saver._restore_sequentially),
                write_version=saver._write_version,
                filename=saver._filename,
            )
        merged, known = type(definition)(), {node.name for node in definition.node}
        merged.CopyFrom(definition)
        merged.node.extend(node for node in graph.as_graph_def(add_shapes=True).node if node.name not in known)
        return merged, own_saver.saver_def
    except Exception:  # the program saves: its file has the graph with tables then
        return None, None


def watch_readers(wraps: Wraps, watcher: Any) -> None:
    """Let `watcher`, a `Checkpoints`, answer in the place of readers, and build what warm starts read of files."""
    reader = py_checkpoint_reader.CheckpointReader
    tensor, shapes = reader.get_tensor, reader.get_variable_to_shape_map
    types, has = reader.get_variable_to_dtype_map, reader.has_tensor

    def stored(self: Any) -> Stored:
        return Stored(*(functools.partial(method, self) for method in (tensor, shapes, types, has)))

    wraps.wrap(reader, "get_tensor", lambda _, self, tensor_str: watcher.tensor(stored(self), tensor_str))
    wraps.wrap(reader, "get_variable_to_shape_map", lambda _, self: watcher.shapes(stored(self)))
    wraps.wrap(reader, "get_variable_to_dtype_map", lambda _, self: watcher.types(stored(self)))
    wraps.wrap(reader, "has_tensor", lambda _, self, tensor_str: watcher.has(stored(self), tensor_str))

    def restored(
        original: Any, prefix: Any, tensor_names: Any, shape_and_slices: Any, dtypes: Any, name: Any = None
    ) -> Any:
        known = isinstance(prefix, str) and isinstance(tensor_names, list) and len(tensor_names) == 1
        rows = watcher.restored(prefix, tensor_names[0]) if known and isinstance(tensor_names[0], str) else None
        if rows is None:
            return original(prefix, tensor_names, shape_and_slices, dtypes, name)
        return [tf.identity(rows[ranges_of(shape_and_slices[0])], name)]

    def remapped(original: Any, *arguments: Any, **named: Any) -> Any:
        path, tensor = named.get("ckpt_path"), named.get("old_tensor_name")
        rows = watcher.restored(path, tensor) if isinstance(path, str) and isinstance(tensor, str) else None
        return original(*arguments, **named) if rows is None else _remapped(rows, **named)

    wraps.wrap(io_ops, "restore_v2", restored)
    wraps.wrap(gen_checkpoint_ops, "load_and_remap_matrix", remapped)


def ranges_of(text: str | bytes) -> tuple[slice, ...]:
    """Return what a text such as `10 4 5,5:-` takes of each dimension, as RestoreV2 reads it; empty: all."""
    text = text.decode() if isinstance(text, bytes) else text
    ranges = [one.split(",") for one in text.split(" ")[-1].split(":")] if text else []
    return tuple(slice(int(one[0]), int(one[0]) + int(one[1])) if len(one) == 2 else slice(None) for one in ranges)


def _remapped(
    rows_of_old: tf.Tensor,
    row_remapping: Any,
    col_remapping: Any,
    initializing_values: Any,
    num_rows: int,
    num_cols: int,
    **_: Any,
) -> tf.Tensor:
    """Return what LoadAndRemapMatrix makes of a matrix: cells of new rows or columns take the values in their order."""
    rows, columns = (tf.cast(tf.convert_to_tensor(one), tf.int64) for one in (row_remapping, col_remapping))
    rows_of_old = tf.gather(rows_of_old, tf.maximum(rows, 0))
    known = tf.tile((rows >= 0)[:, tf.newaxis], [1, num_cols])
    if not isinstance(col_remapping, Sequence) or len(col_remapping):
        rows_of_old = tf.gather(rows_of_old, tf.maximum(columns, 0), axis=1)
        known &= (columns >= 0)[tf.newaxis]
    values = tf.reshape(tf.cast(initializing_values, rows_of_old.dtype), [-1])
    return tf.ensure_shape(tf.tensor_scatter_nd_update(rows_of_old, tf.where(~known), values), [num_rows, num_cols])
