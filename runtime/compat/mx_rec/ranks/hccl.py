"""The hardware's collectives over the ranks that `init` has connected: `hccl_ops`, and gradients of optimizers.

A single process gets back its input. Every rank must make the same calls in the same order.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from runtime import _validation
from runtime.compat.mx_rec.ranks import rank_ids
from runtime.ranks import BroadcastHook, current
from runtime.ranks.gradients import of_table

_FOLDS: dict[str, Callable[..., tf.Tensor]] = {"max": tf.reduce_max, "min": tf.reduce_min, "prod": tf.reduce_prod}


def allreduce(tensor: Any, reduction: str = "sum", *places: Any, **settings: Any) -> Any:
    """Reduce tensors of equal shape over ranks; `places` and `settings` have no effect.

    For IndexedSlices, the slices of all ranks are concatenated; those of a table are returned unchanged, because its
    lookup has summed them over ranks.

    Raises:
        ValueError: the reduction is not "sum", "max", "min" or "prod"; or not "sum" for IndexedSlices.
    """
    _validation.option("reduction", reduction, ("sum", *_FOLDS))
    _require_all(places, settings)
    engine = current()
    if isinstance(tensor, tf.IndexedSlices):
        if engine.size == 1 or _is_of_table(tensor):
            return tensor
        if reduction != "sum":
            raise ValueError(f"hccl_ops.allreduce of IndexedSlices needs 'sum': got {reduction!r}, make it dense first")
        values, indices = (engine.all_gather(part)[0] for part in (tensor.values, tensor.indices))
        return tf.IndexedSlices(values, indices, tensor.dense_shape)
    value = tf.convert_to_tensor(tensor)
    if engine.size == 1:
        return tf.identity(value)
    if reduction == "sum":
        return engine.all_reduce(value)
    folded = _FOLDS[reduction](engine.all_gather(value[tf.newaxis])[0], axis=0)
    folded.set_shape(value.shape)
    return folded


def allgather(tensor: Any, rank_size: int = 1, *places: Any, **settings: Any) -> tf.Tensor:
    """Return the rows of all ranks, ordered by rank.

    Raises:
        ValueError: the group is not all ranks.
    """
    _require_all(places, settings)
    return tf.identity(current().all_gather(tf.convert_to_tensor(tensor))[0])


def broadcast(tensor: Any, root_rank: int = 0, *places: Any, **settings: Any) -> Any:
    """Return the value of `root_rank`, and assign it to a variable; for a list, return a list.

    Raises:
        ValueError: there is no such rank.
    """
    _validation.integer("root_rank", root_rank, 0, current().size - 1)
    _require_all(places, settings)
    if isinstance(tensor, (list, tuple)):
        return [_from(one, root_rank) for one in tensor]
    return _from(tensor, root_rank)


def reduce_scatter(tensor: Any, reduction: str = "sum", rank_size: int = 1, *places: Any, **settings: Any) -> tf.Tensor:
    """Reduce tensors over ranks, and return this rank's part of as many equal parts as there are ranks.

    Raises:
        ValueError: see `allreduce`.
    """
    engine, total = current(), allreduce(tf.convert_to_tensor(tensor), reduction, *places, **settings)
    return total if engine.size == 1 else tf.split(total, engine.size)[engine.rank]


def npu_allreduce(values: Any, reduction: str = "mean", *places: Any, **settings: Any) -> Any:
    """Return the mean (or another reduction) over ranks of a tensor, of IndexedSlices, or of each in a list.

    Raises:
        ValueError: see `allreduce`; "mean" is allowed, too.
    """
    if isinstance(values, (list, tuple)):
        return [npu_allreduce(one, reduction, *places, **settings) for one in values]
    if reduction != "mean":
        return allreduce(values, reduction, *places, **settings)
    total, size = allreduce(values, "sum", *places, **settings), current().size
    if isinstance(total, tf.IndexedSlices):
        return tf.IndexedSlices(total.values / size, total.indices, total.dense_shape) if size > 1 else total
    return total / size if size > 1 else total


def averaging(optimizer: Any, *places: Any, **settings: Any) -> Any:
    """Let an optimizer compute gradients that are means over ranks, and return it.

    Gradients of tables, and of rows in `ASCEND_SPARSE_LOOKUP_LOCAL_EMB`, are kept: their lookups have reduced them.
    """
    _require_all(places, settings)
    if current().size == 1:
        return optimizer
    stock = optimizer.compute_gradients

    @functools.wraps(stock)
    def compute_gradients(*args: Any, **kwargs: Any) -> list[tuple[Any, Any]]:
        return [
            (gradient if gradient is None or _is_row(variable) else npu_allreduce(gradient), variable)
            for gradient, variable in stock(*args, **kwargs)
        ]

    optimizer.compute_gradients = compute_gradients
    return optimizer


class BroadcastGlobalVariablesHook(BroadcastHook):
    """The hardware's hook; here each session that trains starts with rank 0's values, even without it."""

    def __init__(self, root_rank: int = 0, index: int = 0) -> None:
        """Take the rank whose values are copied.

        Raises:
            ValueError: it is not 0.
        """
        _validation.integer("root_rank", root_rank, 0, 0)
        super().__init__()


def _require_all(places: tuple[Any, ...], settings: dict[str, Any]) -> None:
    """Refuse a group other than all ranks; it is the only str among the further arguments of collectives."""
    for argument in (*places, settings.get("group")):
        if isinstance(argument, str):
            rank_ids.require_all(argument)


def _from(tensor: Any, root: int) -> Any:
    engine, value = current(), tf.convert_to_tensor(tensor)
    if engine.size == 1:
        return tf.identity(value)
    value = engine.all_reduce(value if engine.rank == root else tf.zeros_like(value))
    return tensor.assign(value) if isinstance(tensor, tf.Variable) else value


def _is_row(variable: Any) -> bool:
    return of_table(variable) or isinstance(variable, tf.Tensor)


def _is_of_table(slices: tf.IndexedSlices) -> bool:
    """Whether slices belong to a table, which has no rows as far as TensorFlow knows."""
    shape = None if slices.dense_shape is None else tf.get_static_value(slices.dense_shape)
    return shape is not None and shape[0] == 0
