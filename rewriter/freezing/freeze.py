"""A MetaGraph of a SavedModel with stock ops alone, and what its checkpoint holds."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import variable_pb2

from rewriter import _tf_private
from rewriter.apply.inlined_bodies import build_call, can_be_built
from rewriter.facts import VARIABLES
from rewriter.freezing.frozen_table import DEVICE, FrozenTable, Numbers
from rewriter.freezing.lookups import STAND_INS, handles
from rewriter.freezing.replacing import OURS, Replacing
from rewriter.freezing.restores import Restores, find_restores
from rewriter.freezing.sources import TableSource, find_source, handle_of
from rewriter.graph.bodies import reached
from rewriter.graph.view import GraphView
from runtime import native
from runtime._tf_private import ResourceVariable
from runtime.checkpoint.blocks import BlockReader
from runtime.checkpoint.bundle import Bundle, CheckpointError

v1 = tf.compat.v1
#: Limit for recursive functions; calls in models are not nested deeper.
_DEEPEST = 20
_INIT = "__saved_model_init_op"
#: Collections with the name of the op to run after restoring.
_MAIN_OPS = ("saved_model_main_op", "legacy_init_op")
_ASSETS = "saved_model_assets"


@dataclass(frozen=True)
class Frozen:
    """The frozen MetaGraph, its tables, and for each other variable the tensor of the old checkpoint."""

    meta: Any
    tables: tuple[FrozenTable, ...]
    #: name in the new checkpoint -> name in the old one
    copies: Mapping[str, str]


def freeze(meta: Any, reader: BlockReader, numbers: Numbers) -> Frozen:
    """Return the MetaGraph `meta` with variables and stock ops in place of tables.

    Raises:
        ValueError: the graph has no table, or needs an op of ours that has no stand-in, which is named.
        CheckpointError: the checkpoint lacks rows or variables.
    """
    native.ops()
    with tf.Graph().as_default() as graph:
        v1.train.import_meta_graph(meta)
        work = Replacing(graph)
        initializer = _initializing_op(meta)
        roots = _signature_ops(meta)
        _inline(work, roots)
        tables = _Tables(work, find_restores(work.view), reader, numbers)
        tables.replace_lookups(roots)
        if not tables.built:
            raise ValueError("has no signature that looks up a table: serve it as it is, without freezing")
        doomed = work.fed_by(tables.resources)
        ready = _initializer(work, initializer, tables.built.values(), doomed)
        needed = work.needed([*roots, ready.name], doomed)
        _require_stock(work, needed)
        copies = _variables_of(work, needed, tables.new, tables.restores, reader.bundle)
        everything = [*copies.values(), *tables.new]
        saver = v1.train.Saver({_saved_name(one): one for one in everything} if everything else None).as_saver_def()
        ends = [saver.filename_tensor_name, saver.save_tensor_name, saver.restore_op_name]
        own = [_op_of(one) for one in ends] + [one.initializer.name for one in everything]
        kept = work.needed([*roots, ready.name, *own], doomed)
        _require_stock(work, kept)
        definition = work.definition(kept, doomed)
        result = _exported(meta, definition, saver, ready.name, [one.to_proto() for one in everything])
    keys = {_saved_name(one): key for key, one in copies.items()}
    return Frozen(result, tuple(tables.built.values()), keys)


class _Tables:
    """The tables that lookups of a graph read, made when the first of them is met."""

    def __init__(self, work: Replacing, restores: Restores, reader: BlockReader, numbers: Numbers) -> None:
        self.restores = restores
        self.built: dict[str, FrozenTable] = {}
        #: Handles and anchors, which nothing may read any more.
        self.resources: set[str] = set()
        self._work, self._reader, self._numbers = work, reader, numbers
        self._sources: dict[str, TableSource] = {}

    @property
    def new(self) -> list[Any]:
        """The variables of all tables."""
        return [variable for table in self.built.values() for variable in table.variables]

    def replace_lookups(self, roots: Collection[str]) -> None:
        """Give each op of ours that `roots` need, and that has one, its stand-in."""
        work, view = self._work, self._work.view
        lookups = [op for op in work.needed(roots) if view.type(op) in STAND_INS]
        read: list[tuple[tf.Operation, list[FrozenTable]]] = []
        for name in sorted(lookups):
            op = work.graph.get_operation_by_name(name)
            inputs, count = view.inputs(name), handles(op)
            read.append((op, [self._table(handle_of(view, tensor)) for tensor in inputs[:count]]))
            anchors = inputs[count : 2 * count] if op.type not in ("RecContains", "RecTableSize") else ()
            self.resources |= {handle_of(view, tensor) for tensor in anchors if view.type(tensor.op) != "Const"}
        doomed = work.fed_by(self.resources) - {op.name for op, _ in read}
        for op, tables in read:
            waits = [one for one in op.control_inputs if one.name not in doomed]
            with (
                work.graph.as_default(),
                _tf_private.control_flow_of(op),
                tf.control_dependencies(waits),
                tf.device(DEVICE),
                tf.name_scope(f"{op.name}/frozen/"),
            ):
                work.replaced[op.name] = STAND_INS[op.type](op, tables)

    def _table(self, handle: str) -> FrozenTable:
        if handle not in self.built:
            self.resources.add(handle)
            source = find_source(self._work.view, handle, self.restores, self._reader.bundle)
            if any(one.name == source.name for one in self._sources.values()):
                raise ValueError(f"has two tables called `{source.name}`: give them different names, and export again")
            self._sources[handle] = source
            with self._work.graph.as_default():
                self.built[handle] = FrozenTable(source, self._numbers, self._identity(source))
        return self.built[handle]

    def _identity(self, source: TableSource) -> str:
        digest = hashlib.sha256()
        for block in self._reader.blocks(source.keys):
            digest.update(block.tobytes())
        return digest.hexdigest()[:16]


def _initializer(work: Replacing, old: str | None, tables: Any, doomed: set[str]) -> tf.Operation:
    """Build the op that runs after restoring: it fills the hash tables, and does the rest of what `old` does."""
    kept: list[str] = []
    pending = [old] if old else []
    while pending:
        op = pending.pop()
        needed = work.needed([op])
        view = work.view
        ours = any(one in doomed or view.type(one).startswith(OURS) for one in needed if one not in work.replaced)
        if not ours and not any(_ours_inside(view, one) for one in needed):
            kept.append(op)
        elif view.type(op) == "NoOp":
            pending.extend(view.controls(op))
    waits = [work.graph.get_operation_by_name(one) for one in kept]
    waits += [one.initializer for one in tables]
    with work.graph.as_default(), tf.name_scope(""), tf.control_dependencies(waits):
        return tf.no_op("frozen_tables_ready")


def _require_stock(work: Replacing, needed: Collection[str]) -> None:
    view = work.view
    for op in sorted(needed):
        if op not in work.replaced and view.type(op).startswith(OURS):
            raise ValueError(
                f"needs {view.type(op)} `{op}`, which stock operations cannot replace: export a graph that only looks "
                "rows up (is_train=False)"
            )


def _inline(graph: Replacing, roots: Collection[str]) -> None:
    """Inline every call that the ops `roots` need and that contains an op of ours.

    Raises:
        ValueError: such an op is in a function that cannot be inlined, as a dataset's; the message names both.
    """
    for _ in range(_DEEPEST):
        view = graph.view
        calls = [op for op in graph.needed(roots) if op not in graph.replaced and _ours_inside(view, op)]
        if not calls:
            return
        for call in calls:
            inner = _ours_inside(view, call)
            if not can_be_built(view, call):
                raise ValueError(
                    f"{view.type(call)} `{call}` has the op {inner} in a function that cannot be inlined: look rows up "
                    "outside of it, and export again"
                )
            with graph.graph.as_default():
                graph.replaced[call] = build_call(view, graph.graph.get_operation_by_name(call))
    raise ValueError(f"`{calls[0]}` calls itself with a lookup inside: look rows up outside of it, and export again")


def _ours_inside(view: GraphView, op: str) -> str:
    """Return the type of an op of ours in the functions that an op calls, or in functions that these call; or ''."""
    inside = (node.op for name in reached([view.nodes[op]], view.functions) for node in view.functions[name].node_def)
    return next((str(kind) for kind in inside if kind.startswith(OURS)), "")


def _op_of(tensor: str) -> str:
    """Return the op of a tensor's name."""
    return tensor.removeprefix("^").partition(":")[0]


def _initializing_op(meta: Any) -> str | None:
    """Return the op that a loader runs after it has restored the variables, if there is one."""
    if _INIT in meta.signature_def:
        return _op_of(next(iter(meta.signature_def[_INIT].outputs.values())).name)
    for name in _MAIN_OPS:
        if name in meta.collection_def and meta.collection_def[name].node_list.value:
            return _op_of(meta.collection_def[name].node_list.value[0])
    return None


def _signature_ops(meta: Any) -> list[str]:
    """Return the ops that the signatures feed and fetch.

    Raises:
        ValueError: there is no signature.
    """
    ops = {_op_of(tensor) for key, one in meta.signature_def.items() if key != _INIT for tensor in _tensors(one)}
    if not ops:
        raise ValueError("has no signature, so a server cannot know what to compute: export it with one")
    return sorted(ops)


def _tensors(signature: Any) -> list[str]:
    tensors = []
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        kind = info.WhichOneof("encoding")
        if kind == "name":
            tensors.append(info.name)
        elif kind == "coo_sparse":
            coo = info.coo_sparse
            tensors += [coo.values_tensor_name, coo.indices_tensor_name, coo.dense_shape_tensor_name]
        elif kind == "composite_tensor":
            tensors += [one.name for one in info.composite_tensor.components]
    return tensors


def _saved_name(variable: Any) -> str:
    """Return the name of a variable in the new checkpoint."""
    return str(variable.op.name)


def _variables_of(
    work: Replacing, needed: Collection[str], new: Sequence[Any], restores: Restores, bundle: Bundle
) -> dict[str, Any]:
    """Return the variables that the frozen graph needs, without `new` ones, by their tensors in the checkpoint.

    Raises:
        CheckpointError: the checkpoint has no value for one.
    """
    own = {one.op.name for one in new}
    known = {one.op.name: one for one in v1.global_variables()}
    local = {one.op.name for one in v1.local_variables()}
    variables: dict[str, Any] = {}
    for op in sorted(needed):
        if op in work.replaced or work.view.type(op) not in VARIABLES or op in own or op in local:
            continue
        key = restores.variables.get(op, op)
        if key not in bundle:
            raise CheckpointError(
                f"{bundle.path} holds no tensor `{key}` for the variable `{op}`: export the model again"
            )
        variables[key] = known[op] if op in known else _as_variable(work.graph.get_operation_by_name(op))
    return variables


def _as_variable(op: tf.Operation) -> Any:
    """Return the variable of a handle in a graph of TensorFlow 2, which no collection has."""
    handle, dtype = op.outputs[0], op.get_attr("dtype")
    with tf.control_dependencies(None), tf.name_scope(f"{op.name}/frozen/"), tf.device(op.device or None):
        zeros = tf.zeros(op.get_attr("shape"), dtype)
        assigned = tf.raw_ops.AssignVariableOp(resource=handle, value=zeros)
        read = tf.raw_ops.ReadVariableOp(resource=handle, dtype=dtype)
    definition = variable_pb2.VariableDef(
        variable_name=handle.name,
        initial_value_name=zeros.name,
        initializer_name=assigned.name,
        snapshot_name=read.name,
        is_resource=True,
    )
    return ResourceVariable.from_proto(definition)


def _exported(source: Any, definition: Any, saver: Any, ready: str, variables: Sequence[Any]) -> Any:
    """Return the MetaGraphDef of a GraphDef, with the tags and signatures of `source`."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        graph.add_to_collection(_MAIN_OPS[0], graph.get_operation_by_name(ready))
        meta = v1.train.export_meta_graph(graph=graph, saver_def=saver, strip_default_attrs=True)
    meta.meta_info_def.tags.extend(source.meta_info_def.tags)
    listed = meta.collection_def[v1.GraphKeys.GLOBAL_VARIABLES].bytes_list
    listed.value.extend(one.SerializeToString(deterministic=True) for one in variables)
    there = {node.name for node in meta.graph_def.node}
    meta.asset_file_def.extend(one for one in source.asset_file_def if _op_of(one.tensor_info.name) in there)
    if _ASSETS in source.collection_def:
        meta.collection_def[_ASSETS].CopyFrom(source.collection_def[_ASSETS])
    for key, signature in source.signature_def.items():
        if key != _INIT:
            meta.signature_def[key].CopyFrom(signature)
    return meta
