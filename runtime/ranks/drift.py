"""Detects optimizers that would let the ranks' copies of variables diverge, because no one reduces their gradients.

In a graph this shows in what a gradient depends on: if it depends on rows that this rank looked up, or on its batch,
without a sum over ranks on the way, it differs by rank. It may have been accumulated in a variable. Eager gradients
cannot be checked.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from runtime import _tf_private
from runtime.ranks.engine import RanksError
from runtime.ranks.gradients import of_table
from runtime.ranks.process_group import size, when_connected

#: Ops with equal results on all ranks; Python functions are unknown and accepted.
_SAME = (
    *("HorovodAllreduce", "HorovodGroupedAllreduce", "HorovodAllgather", "HorovodGroupedAllgather", "HorovodBroadcast"),
    *("CollectiveReduce", "CollectiveGather", "CollectiveBcast", "RecGather", "PyFunc", "EagerPyFunc"),
)
#: Ops that return rows that this rank looked up.
_LOOKUPS = ("HorovodAlltoall", "CollectiveAllToAll", "RecExchange", "RecLookup", "RecSumRows")
_BATCH = ("Placeholder", "IteratorGetNext", "QueueDequeue", "ReaderRead")
_VARIABLES = ("VarHandleOp", "VariableV2", "Variable")
_WRITES = ("Assign", "Scatter", "ResourceScatter")
_CALLS = ("PartitionedCall", "StatefulPartitionedCall", "If", "StatelessIf", "While", "StatelessWhile", "Case")


def watch(optimizer: Any, method: str) -> None:
    """Make a class of optimizers check the (gradient, variable) pairs in the first argument of its `method`."""
    stock = getattr(optimizer, method)
    if hasattr(stock, "watches_drift"):
        return

    @functools.wraps(stock)
    def checked(self: Any, grads_and_vars: Iterable[tuple[Any, Any]], *args: Any, **kwargs: Any) -> Any:
        if size() > 1 and not hasattr(self, "reduces_over_ranks"):
            grads_and_vars = list(grads_and_vars)
            refuse_drift(type(self).__name__, grads_and_vars)
        return stock(self, grads_and_vars, *args, **kwargs)

    checked.watches_drift = True  # type: ignore[attr-defined]
    setattr(optimizer, method, checked)


def watch_keras() -> None:
    """Make Keras optimizers check their pairs, too; runtime.keras checks `fit` of a model with tables."""
    with contextlib.suppress(AttributeError, ImportError):
        watch(tf.keras.optimizers.Optimizer, "apply_gradients")
        watch(tf.keras.optimizers.legacy.Optimizer, "apply_gradients")


def refuse_drift(optimizer: str, grads_and_vars: Iterable[tuple[Any, Any]]) -> None:
    """Refuse gradients of dense variables that differ by rank; those of tables are summed by their lookups.

    Raises:
        RanksError: there are some.
    """
    pairs = [(gradient, variable) for gradient, variable in grads_and_vars if gradient is not None]
    dense = [(gradient, variable) for gradient, variable in pairs if not of_table(variable)]
    # A tf.distribute strategy reduces the gradients of dense variables itself.
    blamed = _LOOKUPS if len(dense) == len(pairs) and tf.distribute.has_strategy() else _LOOKUPS + _BATCH
    alone = [variable.name for gradient, variable in dense if _is_own(gradient, blamed)]
    if alone:
        names = ", ".join(f"`{name.split(':')[0]}`" for name in alone[:3]) + (", …" if len(alone) > 3 else "")
        raise RanksError(
            f"the gradients of {names} are not reduced over {size()} ranks, so {optimizer} would let their "
            "copies diverge: wrap it in horovod.tensorflow.DistributedOptimizer, or for Keras in "
            "runtime.keras.DistributedOptimizer, or apply what runtime.ranks.reduced_gradients returns; use "
            "op=Sum if the loss divides by the size of all batches together, Average if each rank's divides by "
            "its own"
        )


def _is_own(gradient: Any, blamed: tuple[str, ...]) -> bool:
    tensors = tf.nest.flatten(gradient, expand_composites=True)
    symbolic = [one for one in tensors if isinstance(one, tf.Tensor) and not hasattr(one, "numpy")]
    return _differs(symbolic, blamed, {})


#: Ops that a walk has visited, by name and, if outputs must be told apart, output number.
_Seen = dict[tuple[str, int], tf.Operation]


def _differs(tensors: list[tf.Tensor], blamed: tuple[str, ...], seen: _Seen) -> bool:
    """Whether a tensor depends on something that differs by rank, without a sum over ranks in between."""
    pending = list(tensors)
    while pending:
        tensor = pending.pop()
        # tf.custom_gradient returns an IdentityN of its results and its arguments, so outputs must be told apart.
        number = tensor.value_index if tensor.op.type == "IdentityN" else -1
        op, key = tensor.op, (tensor.op.name, number)
        if key in seen:
            continue
        seen[key] = op
        if op.type.startswith(blamed) and not _is_setting(op):
            return True
        if op.type in _VARIABLES:
            pending += _written(op)
        if not _is_same(op, blamed, seen):
            pending += [op.inputs[number]] if number >= 0 else list(op.inputs)
    return False


def _written(variable: tf.Operation) -> list[tf.Tensor]:
    """Return the values that are written to a variable, except fed ones, which load a state."""
    writes = [op for op in variable.outputs[0].consumers() if op.type.startswith(_WRITES)]
    return [value for op in writes for value in list(op.inputs)[1:] if not value.op.type.startswith("Placeholder")]


def _is_same(op: tf.Operation, blamed: tuple[str, ...], seen: _Seen) -> bool:
    if op.type == "Merge":  # Horovod sums in one branch; the other one is for a single rank
        return any(_is_sum(tensor, blamed, seen) for tensor in op.inputs)
    if op.type in _CALLS:
        return any(node.op.startswith(_SAME) for node in _tf_private.nodes_called(op))
    return bool(op.type.startswith(_SAME))


def _is_sum(tensor: tf.Tensor, blamed: tuple[str, ...], seen: _Seen) -> bool:
    inner = dict(seen)
    differs = _differs([tensor], blamed, inner)
    return not differs and any(op.type.startswith(_SAME) for key, op in inner.items() if key not in seen)


def _is_setting(op: tf.Operation) -> bool:
    """Whether it is a number common to all ranks (a rate, a loss scale), or an argument of a function."""
    argument = op.type == "Placeholder" and getattr(op.graph, "building_function", False)
    return bool(argument) or (op.type.startswith("Placeholder") and bool(op.outputs[0].shape.rank == 0))


watch(tf.compat.v1.train.Optimizer, "apply_gradients")
when_connected(watch_keras)
