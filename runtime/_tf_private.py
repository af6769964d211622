"""Private names of TensorFlow, beside those of `_tf_private_*`; tests/runtime/test_private_names.py guards each.

`ResourceVariable` and `SaveableObject` are base classes that TensorFlow checks for by `isinstance`. Control inputs can
be added to an existing op only through a private method. Automatic control dependencies learn how an op uses a
resource from its inputs or from a resolver; whether XLA will compile a trace is known to `control_flow_util` alone.
"""

from __future__ import annotations

import functools
import inspect
import sys
import weakref
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import Any, TypeVar, cast

import tensorflow as tf
from tensorflow.core.protobuf import trackable_object_graph_pb2
from tensorflow.python.client.session import SessionInterface
from tensorflow.python.eager import context
from tensorflow.python.framework import auto_control_deps, auto_control_deps_utils, op_def_registry
from tensorflow.python.ops import control_flow_util, handle_data_util, resource_variable_ops
from tensorflow.python.ops.control_flow_v2_func_graphs import (
    CondBranchFuncGraph,
    WhileBodyFuncGraph,
    WhileCondFuncGraph,
)
from tensorflow.python.ops.resource_variable_ops import ResourceVariable, variable_accessed
from tensorflow.python.ops.resources import register_resource
from tensorflow.python.trackable import resource as trackable_resource
from tensorflow.python.trackable.base import Trackable
from tensorflow.python.training import optimizer as v1_optimizer
from tensorflow.python.training.saving.saveable_object import SaveableObject, SaveSpec

__all__ = [
    "OBJECT_GRAPH_KEY",
    "CheckpointedVariable",
    "Function",
    "Parent",
    "ReadByPython",
    "ResourceVariable",
    "SaveSpec",
    "SaveableObject",
    "SessionInterface",
    "Trackable",
    "abort_collectives",
    "add_control_inputs",
    "as_written",
    "compiled_by_xla",
    "extend_optimizers",
    "global_seed",
    "handle_shape",
    "in_control_flow",
    "in_loop",
    "may_run_or_not",
    "nodes_called",
    "order_by_handle",
    "parse_object_graph",
    "register_resource",
    "set_handle_shape",
    "stateful_types",
    "track",
    "update_input",
    "updated_by_v1",
    "variable_accessed",
    "worker_answers",
]

#: The attribute of a resource that no op is to take for a variable: what an error says of it.
DENIED = "_recmigrate_denied"

#: Name of the tensor with the object graph in an object-based checkpoint.
OBJECT_GRAPH_KEY = "_CHECKPOINTABLE_OBJECT_GRAPH"

Function = TypeVar("Function", bound=Callable[..., Any])


class Parent(Trackable):  # type: ignore[misc]
    """A trackable object: `tf.train.Checkpoint` and `tf.saved_model.save` save its `children` by name."""

    def children(self) -> dict[str, Any]:
        """Return the trackable parts."""
        raise NotImplementedError

    def part(self, name: str) -> Any:
        """Return the part that a file calls `name`: Keras 2 fills the parts it finds, and makes the others anew."""
        return self.children().get(name)

    def _trackable_children(self, save_type: str = "checkpoint", **kwargs: Any) -> dict[str, Any]:
        return {**super()._trackable_children(save_type, **kwargs), **self.children()}

    def _lookup_dependency(self, name: str, *args: Any, **kwargs: Any) -> Any:
        part = self.part(name)
        return super()._lookup_dependency(name, *args, **kwargs) if part is None else part


class CheckpointedVariable(ResourceVariable):  # type: ignore[misc]
    """A resource variable that defines itself what `tf.train.Checkpoint` saves for it."""

    def checkpoint_tensors(self) -> dict[str, tf.Tensor]:
        """Return the tensors to save, by name; one of the names is `VARIABLE_VALUE`."""
        raise NotImplementedError

    def restore_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        """Restore what `checkpoint_tensors` returned."""
        raise NotImplementedError

    def start_by(self, op: tf.Operation) -> None:
        """Use another op as the initializer."""
        self._initializer_op = op

    def _serialize_to_tensors(self) -> dict[str, tf.Tensor]:
        return self.checkpoint_tensors()

    def _restore_from_tensors(self, restored: dict[str, tf.Tensor]) -> tf.Operation:
        return self.restore_tensors(restored)


class ReadByPython(ResourceVariable):  # type: ignore[misc]
    """A variable whose value Python gives: eager ops read the resource of a variable that has a `_handle`."""

    @property
    def handle(self) -> tf.Tensor:
        """The resource, whose own value has no rows."""
        return self._resource

    @property
    def _handle(self) -> None:
        """None."""

    @_handle.setter
    def _handle(self, handle: tf.Tensor) -> None:
        self._resource = handle

    def __tf_tracing_type__(self, context: Any) -> Any:
        """Return what `tf.function` knows an argument by: variables with one handle are one."""
        number = context.alias_global_id(self.handle._id)
        context.add_placeholder(number, self)
        return resource_variable_ops.VariableSpec(self.shape, self.dtype, self.trainable, number)

    def deny_resource(self, name: str) -> None:
        """Let each op that takes the resource for a variable fail, with an error that has this name."""
        self._resource = tf.raw_ops.MutexV2(shared_name=name)  # any resource that is no variable
        setattr(self._resource, DENIED, name)

    def is_initialized(self, name: str | None = None) -> tf.Tensor:
        """Return True."""
        return tf.constant(True)


def add_control_inputs(op: tf.Operation, inputs: Iterable[tf.Operation]) -> None:
    """Make `op`, an existing op of a v1 graph, run after `inputs`."""
    for before in inputs:
        op._add_control_input(before)


def update_input(op: tf.Operation, number: int, tensor: tf.Tensor) -> None:
    """Replace a data input of an op in a v1 graph; TensorFlow checks neither types nor cycles."""
    op._update_input(number, tensor)


def abort_collectives(message: str) -> None:
    """Let all collectives of this process fail from now on with DeadlineExceededError, also those that are waiting."""
    context.context().abort_collective_ops(tf.errors.DEADLINE_EXCEEDED, message)


def worker_answers(number: int, seconds: float) -> bool:
    """Whether a worker of this process's cluster answers within this time; a restarted worker does not count."""
    try:
        context.context().check_collective_ops_peer_health(f"/job:worker/replica:0/task:{number}", int(seconds * 1000))
    except tf.errors.OpError:
        return False
    return True


def in_control_flow(op: tf.Operation) -> bool:
    """Whether `op` is inside a v1 `tf.cond` or `tf.while_loop`, where it may be dead."""
    context: Any = op._get_control_flow_context()
    return context is not None


def may_run_or_not(graph: Any) -> bool:
    """Whether ops that are created in `graph` now are inside a branch of `tf.cond` or a `tf.while_loop`."""
    return isinstance(graph, CondBranchFuncGraph) or in_loop(graph) or graph._get_control_flow_context() is not None


def in_loop(graph: Any) -> bool:
    """Whether ops that are created in `graph` now are inside a `tf.while_loop`."""
    context: Any = graph._get_control_flow_context()
    inside = context is not None and context.GetWhileContext() is not None
    return isinstance(graph, (WhileBodyFuncGraph, WhileCondFuncGraph)) or inside


def stateful_types(op: tf.Operation) -> set[str]:
    """Return the types of the stateful ops (readers, iterators, variables, random numbers) that run when `op` runs.

    These are `op` itself or ops in the functions that it calls: an assertion is often inside an `If`.
    """
    if not op._is_stateful:
        return set()
    types: set[str] = set()
    for node in (op.node_def, *nodes_called(op)):
        definition = op_def_registry.get(node.op)
        if not _functions(node) and (definition is None or definition.is_stateful):
            types.add(node.op)
    return types


def nodes_called(op: tf.Operation) -> Iterator[Any]:
    """Yield the nodes of the functions that `op` calls, directly or through other functions."""
    pending, known = [op.node_def], set[str]()
    while pending:
        names = _functions(pending.pop())
        for name in names - known:
            function = op.graph._get_function(name)
            nodes = list(function.definition.node_def) if function else []
            yield from nodes
            pending += nodes
        known |= names


def _functions(node: Any) -> set[str]:
    return {one.name for value in node.attr.values() for one in (value.func, *value.list.func) if one.name}


def parse_object_graph(content: bytes) -> list[Any]:
    """Return the nodes of an object graph; each has `attributes` with `full_name` and `checkpoint_key`."""
    return list(trackable_object_graph_pb2.TrackableObjectGraph.FromString(content).nodes)


def order_by_handle(prefix: str, reads: Collection[str]) -> None:
    """Let `tf.function` order ops with a type prefix by the variables that their int64 inputs are read from.

    Ops of the types `reads` are not ordered among each other, only relative to the other types; nor do they write to
    their resource inputs.
    """
    for op_type in reads:
        auto_control_deps_utils.register_read_only_resource_op(op_type)

    def resolve(op: tf.Operation, read: Any, written: Any) -> bool:
        if not op.type.startswith(prefix):
            return False
        sources = [tensor.op for tensor in op.inputs if tensor.dtype == tf.int64]
        handles = [source.inputs[0] for source in sources if source.type == "ReadVariableOp"]
        kept = read if op.type in reads else written
        fresh = [resource for resource in handles if resource not in kept]
        kept.update(fresh)
        return bool(fresh)

    resolve.__name__ = f"resolve_{prefix}"
    auto_control_deps.register_acd_resource_resolver(resolve)


def compiled_by_xla() -> bool:
    """Whether the code is being traced for `tf.function(jit_compile=True)`."""
    return not tf.executing_eagerly() and bool(
        control_flow_util.GraphOrParentsInXlaContext(tf.compat.v1.get_default_graph())
    )


def asked_for_slots() -> bool:
    """Whether a tf.train.Checkpoint that is being written asks an optimizer for the slots of a variable."""
    frame = sys._getframe(1)
    for _ in range(6):
        if frame.f_back is None or frame.f_code.co_name == "serialize_slot_variables":
            break
        frame = frame.f_back
    return frame.f_code.co_name == "serialize_slot_variables"


def set_handle_shape(handle: tf.Tensor, shape: tf.TensorShape) -> None:
    """Let a resource of float32 variables say that its value has this shape."""
    handle_data_util.set_handle_data(handle, handle_data_util.create_handle_data(shape, tf.float32))


def handle_shape(handle: tf.Tensor) -> tf.TensorShape:
    """Return the shape of a variable, given its resource, as far as it is known."""
    data = resource_variable_ops.get_eager_safe_handle_data(handle)
    return tf.TensorShape(data.shape_and_type[0].shape if data.is_set else None)


def global_seed() -> int | None:
    """Return the seed of `tf.random.set_seed` in eager mode."""
    seed: int | None = context.global_seed()
    return seed


def as_written(function: Function) -> Function:
    """Exempt `function` from AutoGraph: it has no Python control flow over tensors, and error messages stay short."""
    exempt = tf.autograph.experimental.do_not_convert(function)
    exempt.__signature__ = inspect.signature(function)  # Keras reads the arguments of a layer's `call`
    return cast(Function, exempt)


def recomputes() -> bool:
    """Return whether `tf.recompute_grad` asks for the gradients of its function, all of which it makes dense."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_name != "inner_recompute_grad":
        frame = frame.f_back  # type: ignore[assignment]
    return frame is not None


def track(parent: Any, name: str, child: Any) -> None:
    """Add `child` to checkpoints of `parent` as `name`; a checkpoint that was restored before fills it now."""
    parent._track_trackable(child, name, overwrite=True)


def fill_from_restored(parent: Parent, name: str, part: Any) -> None:
    """Fill a new part of `parent` with what a checkpoint that was restored before has for it."""
    parent._handle_deferred_dependencies(name=name, trackable=part)


def keep_loaded_resources_when_saved(own: type) -> None:
    """Keep the resources of a loaded SavedModel alive when it is saved again: TensorFlow's, and those of a class.

    TensorFlow's saver copies each resource. When the copy of a loaded resource is collected, it destroys the original
    before the saver has written its contents. Keras 2 loads into objects of the class itself.
    """
    for kind in (trackable_resource.RestoredResource, own):
        _keep_when_saved(kind)


def keep_loaded_resources_with_functions(op_type: str, destroy: Callable[[tf.Tensor], None]) -> None:
    """Keep a loaded resource that an op of this type destroys as long as a function which captures its handle.

    TensorFlow keeps variables so. `destroy` is given another handle of the resource, when none is left that loaded
    functions use.
    """
    kind = trackable_resource.RestoredResource
    add = kind._add_trackable_child

    def destroyed(again: tf.Tensor) -> None:
        with context.eager_mode():
            destroy(again)

    def added(self: Any, name: str, value: Any) -> None:
        bodies = getattr(value, "concrete_functions", ()) if name == "_destroy_resource" else ()
        if any(op.type == op_type for body in bodies for op in body.graph.get_operations()):
            weakref.finalize(self.resource_handle, destroyed, self._create_resource()).atexit = False
            # A SavedModel of this resource destroys it as that one did.
            add(self, name, lambda: None if tf.executing_eagerly() else value())
        else:
            add(self, name, value)

    kind._add_trackable_child = added


def _keep_when_saved(kind: Any) -> None:
    export = kind._export_to_saved_model_graph

    def exported(self: Any, object_map: Any, tensor_map: Any, **options: Any) -> Any:
        handles = export(self, object_map, tensor_map, **options)
        object_map[self]._destroy_resource = lambda: None
        return handles

    kind._export_to_saved_model_graph = exported


def extend_optimizers(adapted: Callable[[Any], bool], update: Callable[[Any, Any, Any], tf.Operation]) -> None:
    """Let `update` build the updates of `adapted` variables in all v1 optimizers, which create no slots for them.

    It gets the optimizer, prepared for the step, the variable and its gradient, and returns the op.
    """

    class Processor:
        """What a v1 optimizer uses to update one variable."""

        def __init__(self, variable: Any) -> None:
            self._variable = variable

        def target(self) -> Any:
            return self._variable.handle

        def update_op(self, optimizer: Any, gradient: Any) -> tf.Operation:
            return update(optimizer, self._variable, gradient)

    module: Any = v1_optimizer
    stock = module._get_processor
    module._get_processor = lambda variable: Processor(variable) if adapted(variable) else stock(variable)
    for name in ("_get_or_make_slot", "_get_or_make_slot_with_initializer", "_zeros_slot"):
        _skip(module.Optimizer, name, adapted)


def updated_by_v1(optimizer: Any, variable: Any, gradient: Any) -> tf.Operation:
    """Return the op by which a v1 optimizer, prepared for the step, updates one variable."""
    module: Any = v1_optimizer
    return module._get_processor(variable).update_op(optimizer, gradient)


def _skip(owner: Any, name: str, adapted: Callable[[Any], bool]) -> None:
    method = getattr(owner, name)

    @functools.wraps(method)
    def make(self: Any, *args: Any, **kwargs: Any) -> Any:
        variable = args[0] if args else kwargs["var"]  # passed by name when a slot is restored
        return None if adapted(variable) else method(self, *args, **kwargs)

    setattr(owner, name, make)
