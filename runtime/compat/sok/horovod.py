"""The functions of `horovod.tensorflow` that programs of SOK use, over runtime.ranks, if Horovod is not the engine."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.compat.sok.variables import is_shared

__all__ = ["CONTENTS"]

v1: Any = tf.compat.v1
Average, Sum = "mean", "sum"
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

    Raises:
        ValueError: the operation is unknown, or a process set is given.
    """
    _of_all("allreduce", process_set)
    means = (_known("allreduce", op) or (Sum if average is False else Average)) == Average
    factor = prescale_factor * postscale_factor
    if isinstance(tensor, tf.IndexedSlices):
        values, indices = _scaled(allgather(tensor.values), factor), allgather(tensor.indices)
        return tf.IndexedSlices(values / ranks.size() if means else values, indices, tensor.dense_shape)
    tensor = tf.convert_to_tensor(tensor)
    total = _scaled(_sum(tensor), factor)
    return total / tf.cast(ranks.size(), total.dtype) if means else total


def _scaled(tensor: tf.Tensor, factor: float) -> tf.Tensor:
    return tensor if factor == 1 else tensor * tf.cast(factor, tensor.dtype)


def _known(function: str, op: str | None) -> str | None:
    if op not in (None, Average, Sum):
        raise ValueError(f"hvd.{function} supports hvd.Average and hvd.Sum: got {op!r}")
    return op


def _of_all(function: str, process_set: Any) -> None:
    """Refuse process sets other than 0, which is all ranks in Horovod."""
    if process_set is not None and getattr(process_set, "process_set_id", None) != 0:
        raise ValueError(f"hvd.{function} needs all ranks: leave `process_set` out, or run the program with Horovod")


@_tf_private.as_written
def allgather(
    tensor: Any, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None
) -> tf.Tensor:
    """Return the rows of all ranks."""
    _of_all("allgather", process_set)
    return ranks.current().all_gather(tf.convert_to_tensor(tensor))[0]


@_tf_private.as_written
def alltoall(
    tensor: Any, splits: Any = None, name: str | None = None, ignore_name_scope: bool = False, process_set: Any = None
) -> Any:
    """Return the rows that all ranks send to this one, and with `splits` also the number from each."""
    _of_all("alltoall", process_set)
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
    _of_all("broadcast", process_set)
    tensor = tf.convert_to_tensor(tensor)
    return tensor if ranks.size() == 1 else _sum(tensor if ranks.rank() == root_rank else tf.zeros_like(tensor))


@_tf_private.as_written
def broadcast_variables(
    variables: Iterable[Any], root_rank: int, process_set: Any = None, inplace: bool = False
) -> Any:
    """Copy one rank's values to all ranks; variables whose rows the ranks share are left out."""
    _of_all("broadcast_variables", process_set)
    own = [one for one in variables if not is_shared(one)] if ranks.size() > 1 else []
    assigned = [one.assign(broadcast(one, root_rank)) for one in own]
    return None if tf.executing_eagerly() else tf.group(*assigned)


def broadcast_global_variables(root_rank: int) -> Any:
    """Return the op that copies one rank's values of global variables to all ranks."""
    return broadcast_variables(v1.global_variables(), root_rank)


def barrier(process_set: Any = None) -> None:
    """Wait for all ranks."""
    _of_all("barrier", process_set)
    ranks.current().barrier()


def _sum(tensor: tf.Tensor) -> tf.Tensor:
    if ranks.size() == 1:
        return tensor
    wide = tensor.dtype if tensor.dtype in (tf.int32, tf.int64, tf.float32, tf.float64) else _wider(tensor.dtype)
    return tf.cast(ranks.current().all_reduce(tf.cast(tensor, wide)), tensor.dtype)


def _wider(dtype: tf.DType) -> tf.DType:
    return tf.float32 if dtype.is_floating else tf.int64


def _reduced(gradients: Sequence[Any], variables: Sequence[Any], op: str, dense: bool) -> list[Any]:
    """Return the gradients; those of copied variables are reduced, in one message for each type."""
    owned = [is_shared(one) for one in variables]
    pairs = [
        (_dense(g) if dense else g, v) for g, v, shared in zip(gradients, variables, owned, strict=True) if not shared
    ]
    reduced = iter(ranks.reduced_gradients(pairs, op))
    return [g if shared else next(reduced)[0] for g, shared in zip(gradients, owned, strict=True)]


def _dense(gradient: Any) -> Any:
    return tf.convert_to_tensor(gradient) if isinstance(gradient, tf.IndexedSlices) else gradient


class DistributedGradientTape:
    """A GradientTape that reduces the gradients of copied variables over ranks; those of SOK's are as in SOK."""

    def __init__(
        self,
        gradtape: tf.GradientTape,
        device_dense: str = "",
        device_sparse: str = "",
        compression: Any = None,
        sparse_as_dense: bool = False,
        op: str = Average,
        gradient_predivide_factor: float = 1.0,
        num_groups: int = 0,
        groups: Any = None,
        process_set: Any = None,
        scale_local_gradients: bool = True,
    ) -> None:
        """Take the tape, after its block.

        Raises:
            ValueError: the operation is unknown, or a process set is given.
        """
        _of_all("DistributedGradientTape", process_set)
        self._tape, self._op = gradtape, _known("DistributedGradientTape", op) or Average
        self._dense = sparse_as_dense

    @_tf_private.as_written
    def gradient(self, target: Any, sources: Any, output_gradients: Any = None, **kwargs: Any) -> Any:
        """Return the gradients for `sources`, a variable or a list of them; other arguments as of a GradientTape."""
        found = self._tape.gradient(target, sources, output_gradients, **kwargs)
        if not isinstance(sources, (list, tuple)):
            return _reduced([found], [sources], self._op, self._dense)[0]
        return _reduced(found, sources, self._op, self._dense)

    def __enter__(self) -> DistributedGradientTape:
        """Start recording."""
        self._tape.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        """Stop recording."""
        self._tape.__exit__(*args)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the tape."""
        return getattr(self.__dict__["_tape"], name)


def DistributedOptimizer(
    optimizer: Any,
    name: str | None = None,
    use_locking: bool = False,
    device_dense: str = "",
    device_sparse: str = "",
    compression: Any = None,
    sparse_as_dense: bool = False,
    backward_passes_per_step: int = 1,
    op: str = Average,
    gradient_predivide_factor: float = 1.0,
    average_aggregated_gradients: bool = False,
    num_groups: int = 0,
    groups: Any = None,
    process_set: Any = None,
    scale_local_gradients: bool = True,
) -> Any:
    """Make the optimizer reduce the gradients of copied variables over ranks, and return it.

    Raises:
        ValueError: the operation is unknown, a process set is given, or a step has several backward passes.
    """
    _of_all("DistributedOptimizer", process_set)
    op = _known("DistributedOptimizer", op) or Average
    if backward_passes_per_step != 1 or average_aggregated_gradients:
        raise ValueError(
            "hvd.DistributedOptimizer supports one backward pass per step: leave `backward_passes_per_step` and "
            "`average_aggregated_gradients` out and train with larger batches, or run the program with Horovod"
        )
    stock: Any = type(optimizer)
    first = isinstance(optimizer, v1.train.Optimizer)

    class Reducing(stock):  # type: ignore[misc]
        """Reduces where Horovod does: for v1 when gradients are computed, for Keras before they are applied."""

        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            pairs = super().compute_gradients(*args, **kwargs)
            return _pairs(pairs, op, sparse_as_dense) if first else pairs

        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            return super().apply_gradients(pairs if first else _pairs(pairs, op, sparse_as_dense), *args, **kwargs)

    Reducing.__name__ = stock.__name__
    optimizer.__class__ = Reducing
    return optimizer


def _pairs(pairs: Sequence[tuple[Any, Any]], op: str, dense: bool) -> list[tuple[Any, Any]]:
    variables = [variable for _, variable in pairs]
    return list(zip(_reduced([gradient for gradient, _ in pairs], variables, op, dense), variables, strict=True))


class BroadcastGlobalVariablesHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Copies one rank's values to all ranks when a session begins."""

    def __init__(self, root_rank: int, device: str = "") -> None:
        """Take the rank."""
        self._root, self._op = root_rank, None

    def begin(self) -> None:
        """Create the op."""
        self._op = broadcast_global_variables(self._root)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run the op."""
        session.run(self._op)


class NoneCompressor:
    """Sends numbers unchanged."""

    @staticmethod
    def compress(tensor: Any) -> tuple[Any, Any]:
        """Return the tensor, and nothing to undo."""
        return tensor, None

    @staticmethod
    def decompress(tensor: Any, ctx: Any) -> Any:
        """Return the tensor."""
        del ctx
        return tensor


class FP16Compressor(NoneCompressor):
    """Sends numbers unchanged, too: results are not less exact."""


class Compression:
    """Horovod's names of compressions; everything is sent unchanged."""

    none, fp16 = NoneCompressor, FP16Compressor


COMPRESSION = {one.__name__: one for one in (NoneCompressor, FP16Compressor, Compression)}
CONTENTS: dict[str, Any] = {
    **{name: getattr(ranks, name) for name in ("rank", "size", "local_rank")},
    "cross_rank": lambda: 0,
    "cross_size": lambda: 1,
    "Average": Average,
    "Sum": Sum,
    **{
        one.__name__: one
        for one in (
            *(init, is_initialized, shutdown, local_size, allreduce, allgather, alltoall, broadcast),
            *(broadcast_variables, broadcast_global_variables, barrier, DistributedGradientTape),
            *(DistributedOptimizer, BroadcastGlobalVariablesHook, Compression),
        )
    },
}
