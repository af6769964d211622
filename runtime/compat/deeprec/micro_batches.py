"""DeepRec's `micro_batch_num`: a step takes several batches, sums their gradients and updates once.

DeepRec copies what gradients depend on when a session begins, and sums at the inputs of the update ops. Here it is
copied when an optimizer gets the gradients, so the number must be known by then.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks

v1: Any = tf.compat.v1
#: The number that programs set last.
_number = 1
_MADE = "runtime_compat_deeprec_micro_batches"
#: Numbers of the types of references, to what a variable holds.
_REFERENCES = 100
_PLACEHOLDERS = ("Placeholder", "PlaceholderV2", "PlaceholderWithDefault")
#: What holds state within a step: each batch needs its own.
_OF_ONE_STEP = ("StackV2", "TensorArrayV3", "TensorArrayGradV3", "TensorArrayGradWithShape", "TemporaryVariable")
#: Of each graph and batch, the names of ops that give data, to those of their copies.
_given: weakref.WeakKeyDictionary[Any, dict[int, dict[str, str]]] = weakref.WeakKeyDictionary()
_READS = ("ReadVariableOp", "Variable", "VariableV2", "VariableShape", "VarIsInitializedOp", "RecTableHandle")


def wanted(number: Any) -> None:
    """Set the number of batches of a step, for the optimizers that get gradients from now on.

    Raises:
        ValueError: it is negative.
    """
    global _number
    if not isinstance(number, int) or number < 0:
        raise ValueError(f"micro_batch_num {number!r} of tf.ConfigProto must be an int of 0 or more")
    _number = max(1, number)


def require(graph: Any, number: int) -> None:
    """Check that a graph has steps of the number of batches that its session is to have.

    Raises:
        ValueError: its optimizers got their gradients before the number was set.
    """
    numbers = graph.get_collection(_MADE)
    if number > 1 and any(one != number for one in numbers):
        raise ValueError(
            f"micro_batch_num is {number}, but an optimizer of the graph was created for {max(numbers)} "
            "micro-batches: set micro_batch_num in tf.ConfigProto before minimize or apply_gradients is called"
        )


def summing(stock: Callable[..., Any]) -> Callable[..., Any]:
    """Return `Optimizer.apply_gradients` of sums over the batches of a step."""

    @functools.wraps(stock)
    def apply_gradients(self: Any, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
        pairs = list(grads_and_vars)
        if not tf.executing_eagerly():
            v1.add_to_collection(_MADE, _number)
            if _number > 1:
                pairs = list(zip(_summed([gradient for gradient, _ in pairs]), [one for _, one in pairs], strict=True))
        return stock(self, pairs, *args, **kwargs)

    return apply_gradients


def _summed(gradients: Sequence[Any]) -> list[Any]:
    """Return the sums of gradients over the batches; of rows, all of them, as optimizers sum equal ones."""
    if ranks.size() > 1:
        raise ValueError("micro_batch_num is for one process: leave it out with several ranks")
    flat = [one for one in tf.nest.flatten(list(gradients), expand_composites=True) if one is not None]
    copies = [iter(_copied(flat, number)) for number in range(1, _number)]

    def added(gradient: Any) -> Any:
        if gradient is None:
            return None
        parts = tf.nest.flatten(gradient, expand_composites=True)
        others = [list(itertools.islice(one, len(parts))) for one in copies]
        if not isinstance(gradient, tf.IndexedSlices):
            return tf.add_n([gradient, *(one for (one,) in others)])
        whole = [gradient, *(tf.nest.pack_sequence_as(gradient, one, expand_composites=True) for one in others)]
        values = tf.concat([one.values for one in whole], 0)
        return tf.IndexedSlices(values, tf.concat([one.indices for one in whole], 0), gradient.dense_shape)

    return [added(one) for one in gradients]


def _copied(tensors: list[tf.Tensor], number: int) -> list[tf.Tensor]:
    """Return the tensors as of another batch: copies of all ops between them and what gives data.

    What gave the data of this batch to an earlier optimizer gives it to the next one: both have the same batches.
    """
    graph = v1.get_default_graph()
    shared_data = _given.setdefault(graph, {}).setdefault(number, {})
    known = {op.name: op for op in _with_data(_before([tensor.op for tensor in tensors]))}
    copies = {name: graph.get_operation_by_name(shared_data[name]) for name in known if name in shared_data}
    copies = {name: op for name, op in copies.items() if len(op.outputs) == len(known[name].outputs)}
    copied = {name: op for name, op in known.items() if name not in copies}

    def own(tensor: tf.Tensor) -> tf.Tensor:
        return copies[tensor.op.name].outputs[tensor.value_index] if tensor.op.name in copies else tensor

    if copied:
        name = f"micro_batch_{number}"
        shared: dict[str, tf.Tensor] = {}
        definition = v1.GraphDef()
        definition.versions.CopyFrom(graph.graph_def_versions)
        for op in copied.values():
            node = definition.node.add()
            node.CopyFrom(op.node_def)
            node.attr.pop("_class", None)  # places of ops that are not copied
            if "frame_name" in node.attr:  # a loop is known by it
                node.attr["frame_name"].s += f"/{graph.unique_name(name, mark_as_used=False)}".encode()
            del node.input[:]
            for tensor in op.inputs:
                if tensor.op.name not in copied:
                    shared[tensor.name] = own(tensor)
                node.input.append(tensor.name)
            node.input.extend(f"^{one.name}" for one in op.control_inputs if one.name in copied)
        imported = tf.import_graph_def(definition, shared, list(copied), name=name)
        copies |= dict(zip(copied, imported, strict=True))
        shared_data |= {name: copies[name].name for name, op in copied.items() if _is_the_batchs(op)}
    return [own(tensor) for tensor in tensors]


def _is_the_batchs(op: tf.Operation) -> bool:
    """Whether what an op gives is the same for all optimizers; loops have ops of each of these."""
    return bool(op.outputs) and _gives_data(op) and op.type not in _OF_ONE_STEP and not _tf_private.in_control_flow(op)


def _before(ops: list[tf.Operation]) -> list[tf.Operation]:
    """Return the ops and all that they depend on."""
    before = dict.fromkeys(ops)
    pending = list(before)
    while pending:
        op = pending.pop()
        for source in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            if source not in before:
                before[source] = None
                pending.append(source)
    return list(before)


def _with_data(ops: list[tf.Operation]) -> list[tf.Operation]:
    """Return those that give data or depend on it, and loops and branches whole; what holds state is shared."""
    after: dict[tf.Operation, list[tf.Operation]] = {op: [] for op in ops}
    for op in ops:
        for other in (*(tensor.op for tensor in op.inputs), *op.control_inputs):
            after[other].append(op)
    with_data = {op for op in ops if _tf_private.in_control_flow(op) or _gives_data(op)}
    pending = list(with_data)
    while pending:
        for other in set(after[pending.pop()]) - with_data:
            with_data.add(other)
            pending.append(other)
    return [op for op in ops if op in with_data]


def _gives_data(op: tf.Operation) -> bool:
    """Whether each run may give something else, from an iterator, a queue, a generator of numbers or a table."""
    if op.type in _OF_ONE_STEP:
        return True
    if op.type in _READS or op.type in _PLACEHOLDERS or not op.op_def.is_stateful:
        return False
    holds = (tf.resource.as_datatype_enum, tf.variant.as_datatype_enum)
    kinds = [one.dtype.as_datatype_enum for one in op.outputs]
    return not any(kind in holds or kind > _REFERENCES for kind in kinds)
