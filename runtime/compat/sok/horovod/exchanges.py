"""The exchanges of `horovod.tensorflow` that programs of SOK use, over runtime.ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.compat.sok.variables import is_shared

__all__ = [
    "Average",
    "Max",
    "Min",
    "Product",
    "Sum",
    "allgather",
    "allreduce",
    "alltoall",
    "barrier",
    "broadcast",
    "broadcast_global_variables",
    "broadcast_variables",
    "grouped_allgather",
    "grouped_allreduce",
    "init",
    "is_initialized",
    "known",
    "local_size",
    "of_all",
    "reducescatter",
    "shutdown",
]

v1: Any = tf.compat.v1
Average, Sum, Min, Max, Product = "mean", "sum", "min", "max", "product"
_FOLDS = {Min: tf.reduce_min, Max: tf.reduce_max, Product: tf.reduce_prod}
_state = {"begun": False}


def init(comm: Any = None, process_sets: Any = None) -> None:
    """Connect all ranks.

    Raises:
        ValueError: only some of the ranks are given.
    """
    if comm is not None or process_sets:
        raise ValueError("hvd.init connects all ranks of a job: leave `comm` and `process_sets` out")
    ranks.start()
    _state["begun"] = True


def is_initialized() -> bool:
    """Return whether `init` was called."""
    return _state["begun"]


def shutdown() -> None:
    """Undo `init`; the ranks stay connected."""
    _state["begun"] = False


def local_size() -> int:
    """Return the number of ranks, as if all were on one machine."""
    return ranks.size()


@_tf_private.as_written
def allreduce(
    tensor: Any,
    average: bool | None = None,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = None,
    op: str | None = None,
    prescale_factor: float = 1.0,
    postscale_factor: float = 1.0,
    name: str | None = None,
    process_set: Any = None,
    ignore_name_scope: bool = False,
) -> Any:
    """Return the mean over ranks; with `op=Sum` or `average=False` the sum; for IndexedSlices all ranks' slices.

    `op` may also be Min, Max or Product, of tensors.

    Raises:
        ValueError: the operation is unknown, or a process set is given.
    """
    of_all("allreduce", process_set)
    if op in _FOLDS and not isinstance(tensor, tf.IndexedSlices):
        tensor = _scaled(tf.convert_to_tensor(tensor), prescale_factor)
        return _scaled(_FOLDS[op](allgather(tf.expand_dims(tensor, 0)), 0), postscale_factor)
    means = (known("allreduce", op) or (Sum if average is False else Average)) == Average
    factor = prescale_factor * postscale_factor
    if isinstance(tensor, tf.IndexedSlices):
        values, indices = _scaled(allgather(tensor.values), factor), allgather(tensor.indices)
        return tf.IndexedSlices(values / ranks.size() if means else values, indices, tensor.dense_shape)
    tensor = tf.convert_to_tensor(tensor)
    total = _scaled(_sum(tensor), factor)
    return total / tf.cast(ranks.size(), total.dtype) if means else total


def grouped_allreduce(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> list[Any]:
    """Return the reduction of each tensor; other arguments as of `allreduce`."""
    return [allreduce(tensor, *args, **kwargs) for tensor in tensors]


def _scaled(tensor: tf.Tensor, factor: float) -> tf.Tensor:
    return tensor if factor == 1 else tensor * tf.cast(factor, tensor.dtype)


def known(function: str, op: str | None) -> str | None:
    if op not in (None, Average, Sum):
        raise ValueError(f"hvd.{function} supports hvd.Average and hvd.Sum: got {op!r}")
    return op


def of_all(function: str, process_set: Any) -> None:
    """Refuse process sets other than 0, which is all ranks in Horovod."""
    if process_set is not None and getattr(process_set, "process_set_id", None) != 0:
        raise ValueError(f"hvd.{function} needs all ranks: leave `process_set` out, or run the program with Horovod")


@_tf_private.as_written
def allgather(
    tensor: Any, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None
) -> tf.Tensor:
    """Return the rows of all ranks."""
    of_all("allgather", process_set)
    return ranks.current().all_gather(tf.convert_to_tensor(tensor))[0]


def grouped_allgather(tensors: Sequence[Any], *args: Any, **kwargs: Any) -> list[tf.Tensor]:
    """Return the rows of all ranks, for each tensor; other arguments as of `allgather`."""
    return [allgather(tensor, *args, **kwargs) for tensor in tensors]


@_tf_private.as_written
def reducescatter(
    tensor: Any, device_dense: str = "", compression: Any = None, op: str = Average, name: str | None = None
) -> tf.Tensor:
    """Return this rank's share of the rows of the mean or sum over ranks; where they are uneven, first ranks have more.

    Raises:
        ValueError: the operation is neither Average nor Sum.
    """
    total = allreduce(tensor, op=known("reducescatter", op))
    least, more = tf.shape(total)[0] // ranks.size(), tf.shape(total)[0] % ranks.size()
    begin = ranks.rank() * least + tf.minimum(ranks.rank(), more)
    return total[begin : begin + least + tf.cast(ranks.rank() < more, tf.int32)]


@_tf_private.as_written
def alltoall(
    tensor: Any, splits: Any = None, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None
) -> Any:
    """Return the rows that all ranks send to this one, and with `splits` also the number from each."""
    of_all("alltoall", process_set)
    tensor, engine = tf.convert_to_tensor(tensor), ranks.current()
    counts = tf.fill([engine.size], tf.shape(tensor)[0] // engine.size) if splits is None else tf.cast(splits, tf.int32)
    route = engine.route(counts)
    rows = engine.all_to_all(tensor, route)
    return rows if splits is None else (rows, route.received)


@_tf_private.as_written
def broadcast(
    tensor: Any, root_rank: int, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None
) -> tf.Tensor:
    """Return the tensor of one rank."""
    of_all("broadcast", process_set)
    tensor = tf.convert_to_tensor(tensor)
    return tensor if ranks.size() == 1 else _sum(tensor if ranks.rank() == root_rank else tf.zeros_like(tensor))


@_tf_private.as_written
def broadcast_variables(
    variables: Iterable[Any], root_rank: int, process_set: Any = None, inplace: bool = False
) -> Any:
    """Copy one rank's values to all ranks; variables whose rows the ranks share are left out."""
    of_all("broadcast_variables", process_set)
    own = [one for one in variables if not is_shared(one)] if ranks.size() > 1 else []
    assigned = [one.assign(broadcast(one, root_rank)) for one in own]
    return None if tf.executing_eagerly() else tf.group(*assigned)


def broadcast_global_variables(root_rank: int) -> Any:
    """Return the op that copies one rank's values of global variables to all ranks."""
    return broadcast_variables(v1.global_variables(), root_rank)


def barrier(process_set: Any = None) -> None:
    """Wait for all ranks."""
    of_all("barrier", process_set)
    ranks.current().barrier()


def _sum(tensor: tf.Tensor) -> tf.Tensor:
    if ranks.size() == 1:
        return tensor
    wide = tensor.dtype if tensor.dtype in (tf.int32, tf.int64, tf.float32, tf.float64) else _wider(tensor.dtype)
    return tf.cast(ranks.current().all_reduce(tf.cast(tensor, wide)), tensor.dtype)


def _wider(dtype: tf.DType) -> tf.DType:
    return tf.float32 if dtype.is_floating else tf.int64
