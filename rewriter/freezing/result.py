"""The MetaGraph of a frozen model: its variables, its initializing op, its signatures."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import tensorflow as tf
from tensorflow.core.framework import variable_pb2

from rewriter.facts import VARIABLES
from rewriter.freezing.replacing import Replacing
from rewriter.freezing.restores import Restores
from runtime._tf_private import ResourceVariable
from runtime.checkpoint.bundle import Bundle, CheckpointError

v1 = tf.compat.v1
_INIT = "__saved_model_init_op"
#: Collections with the name of the op to run after restoring.
_MAIN_OPS = ("saved_model_main_op", "legacy_init_op")
_ASSETS = "saved_model_assets"


def op_of(tensor: str) -> str:
    """Return the op of a tensor's name."""
    return tensor.removeprefix("^").partition(":")[0]


def initializing_op(meta: Any) -> str | None:
    """Return the op that a loader runs after it has restored the variables, if there is one."""
    if _INIT in meta.signature_def:
        return op_of(next(iter(meta.signature_def[_INIT].outputs.values())).name)
    for name in _MAIN_OPS:
        if name in meta.collection_def and meta.collection_def[name].node_list.value:
            return op_of(meta.collection_def[name].node_list.value[0])
    return None


def signature_ops(meta: Any) -> list[str]:
    """Return the ops that the signatures feed and fetch.

    Raises:
        ValueError: there is no signature.
    """
    found = {op_of(tensor) for key, one in meta.signature_def.items() if key != _INIT for tensor in _tensors(one)}
    if not found:
        raise ValueError("has no signature, which says what a server computes: export it with one")
    return sorted(found)


def _tensors(signature: Any) -> list[str]:
    found = []
    for info in (*signature.inputs.values(), *signature.outputs.values()):
        kind = info.WhichOneof("encoding")
        if kind == "name":
            found.append(info.name)
        elif kind == "coo_sparse":
            coo = info.coo_sparse
            found += [coo.values_tensor_name, coo.indices_tensor_name, coo.dense_shape_tensor_name]
        elif kind == "composite_tensor":
            found += [one.name for one in info.composite_tensor.components]
    return found


def saved_name(variable: Any) -> str:
    """Return the name of a variable in the new checkpoint."""
    return str(variable.op.name)


def variables_of(
    work: Replacing, needed: Collection[str], new: Sequence[Any], restores: Restores, bundle: Bundle
) -> dict[str, Any]:
    """Return the variables that the frozen graph needs, without `new` ones, by their tensors in the checkpoint.

    Raises:
        CheckpointError: the checkpoint has no value for one.
    """
    own = {one.op.name for one in new}
    known = {one.op.name: one for one in v1.global_variables()}
    local = {one.op.name for one in v1.local_variables()}
    found: dict[str, Any] = {}
    for op in sorted(needed):
        if op in work.replaced or work.view.type(op) not in VARIABLES or op in own or op in local:
            continue
        key = restores.variables.get(op, op)
        if key not in bundle:
            raise CheckpointError(
                f"{bundle.path} holds no tensor `{key}` for the variable `{op}`: export the model again"
            )
        found[key] = known[op] if op in known else _as_variable(work.graph.get_operation_by_name(op))
    return found


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


def exported(source: Any, definition: Any, saver: Any, ready: str, variables: Sequence[Any]) -> Any:
    """Return the MetaGraphDef of a GraphDef, with the tags and signatures of `source`."""
    with tf.Graph().as_default() as graph:
        tf.import_graph_def(definition, name="")
        graph.add_to_collection(_MAIN_OPS[0], graph.get_operation_by_name(ready))
        meta = v1.train.export_meta_graph(graph=graph, saver_def=saver, strip_default_attrs=True)
    meta.meta_info_def.tags.extend(source.meta_info_def.tags)
    listed = meta.collection_def[v1.GraphKeys.GLOBAL_VARIABLES].bytes_list
    listed.value.extend(one.SerializeToString(deterministic=True) for one in variables)
    there = {node.name for node in meta.graph_def.node}
    meta.asset_file_def.extend(one for one in source.asset_file_def if op_of(one.tensor_info.name) in there)
    if _ASSETS in source.collection_def:
        meta.collection_def[_ASSETS].CopyFrom(source.collection_def[_ASSETS])
    for key, signature in source.signature_def.items():
        if key != _INIT:
            meta.signature_def[key].CopyFrom(signature)
    return meta
