"""What programs of SOK call of `horovod.tensorflow`, over runtime.ranks, where Horovod does not connect the ranks."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from runtime import _tensorflow, ranks
from runtime.compat.sok.variables import is_shared

__all__ = ["CONTENTS"]

v1: Any = tf.compat.v1
Average, Sum = "mean", "sum"
_state = {"begun": False}


def init(*args: Any, **kwargs: Any) -> None:
    """Connect the ranks."""
    ranks.start()
    _state["begun"] = True


def is_initialized() -> bool:
    """Return whether `init` was called."""
    return _state["begun"]


def shutdown() -> None:
    """Forget that `init` was called; the ranks stay connected."""
    _state["begun"] = False


def local_size() -> int:
    """Return the number of ranks, as if all were on one machine."""
    return ranks.size()


@_tensorflow.as_written
def allreduce(
    tensor: Any, average: bool | None = None, *args: Any, op: str | None = None, name: str | None = None, **kwargs: Any
) -> Any:
    """Return the mean over ranks, with `op=Sum` or `average=False` the sum; of IndexedSlices all ranks' slices."""
    if op not in (None, Average, Sum):
        raise ValueError(f"allreduce knows hvd.Average and hvd.Sum: got {op!r}")
    means = (op or (Sum if average is False else Average)) == Average
    if isinstance(tensor, tf.IndexedSlices):
        values, indices = allgather(tensor.values), allgather(tensor.indices)
        return tf.IndexedSlices(values / ranks.size() if means else values, indices, tensor.dense_shape)
    tensor = tf.convert_to_tensor(tensor)
    total = _sum(tensor)
    return total / tf.cast(ranks.size(), total.dtype) if means else total


@_tensorflow.as_written
def allgather(tensor: Any, name: str | None = None, **kwargs: Any) -> tf.Tensor:
    """Return the rows of all ranks."""
    return ranks.current().all_gather(tf.convert_to_tensor(tensor))[0]


@_tensorflow.as_written
def alltoall(tensor: Any, splits: Any = None, name: str | None = None, **kwargs: Any) -> Any:
    """Return the rows that all ranks have for this one, and with `splits` how many each had."""
    tensor, engine = tf.convert_to_tensor(tensor), ranks.current()
    counts = tf.fill([engine.size], tf.shape(tensor)[0] // engine.size) if splits is None else tf.cast(splits, tf.int32)
    route = engine.route(counts)
    rows = engine.all_to_all(tensor, route)
    return rows if splits is None else (rows, route.received)


@_tensorflow.as_written
def broadcast(tensor: Any, root_rank: int, name: str | None = None, **kwargs: Any) -> tf.Tensor:
    """Return the tensor of one rank."""
    tensor = tf.convert_to_tensor(tensor)
    return tensor if ranks.size() == 1 else _sum(tensor if ranks.rank() == root_rank else tf.zeros_like(tensor))


@_tensorflow.as_written
def broadcast_variables(variables: Iterable[Any], root_rank: int, **kwargs: Any) -> Any:
    """Give all ranks the values of one; variables whose rows the ranks share are left out."""
    own = [one for one in variables if not is_shared(one)] if ranks.size() > 1 else []
    assigned = [one.assign(broadcast(one, root_rank)) for one in own]
    return None if tf.executing_eagerly() else tf.group(*assigned)


def broadcast_global_variables(root_rank: int) -> Any:
    """Return the op that gives all ranks the values of one's global variables."""
    return broadcast_variables(v1.global_variables(), root_rank)


def barrier(*args: Any, **kwargs: Any) -> None:
    """Wait for all ranks."""
    ranks.current().barrier()


def _sum(tensor: tf.Tensor) -> tf.Tensor:
    if ranks.size() == 1:
        return tensor
    wide = tensor.dtype if tensor.dtype in (tf.int32, tf.int64, tf.float32, tf.float64) else _wider(tensor.dtype)
    return tf.cast(ranks.current().all_reduce(tf.cast(tensor, wide)), tensor.dtype)


def _wider(dtype: tf.DType) -> tf.DType:
    return tf.float32 if dtype.is_floating else tf.int64


def _reduced(gradients: Sequence[Any], variables: Sequence[Any], op: str) -> list[Any]:
    """Return the gradients with those of variables that are copied reduced, in one message for each type."""
    owned = [is_shared(one) for one in variables]
    pairs = [(g, v) for g, v, shared in zip(gradients, variables, owned, strict=True) if not shared]
    reduced = iter(ranks.reduced_gradients(pairs, op))
    return [g if shared else next(reduced)[0] for g, shared in zip(gradients, owned, strict=True)]


class DistributedGradientTape:
    """A GradientTape whose gradients of copied variables are reduced over ranks; SOK's are as SOK gives them."""

    def __init__(self, gradtape: tf.GradientTape, *args: Any, op: str = Average, **kwargs: Any) -> None:
        """Take the tape, after its block."""
        self._tape, self._op = gradtape, op

    @_tensorflow.as_written
    def gradient(self, target: Any, sources: Any, output_gradients: Any = None, **kwargs: Any) -> Any:
        """Return the gradients for `sources`, a variable or a list of them."""
        found = self._tape.gradient(target, sources, output_gradients)
        if not isinstance(sources, (list, tuple)):
            return _reduced([found], [sources], self._op)[0]
        return _reduced(found, sources, self._op)

    def __enter__(self) -> DistributedGradientTape:
        """Begin to record."""
        self._tape.__enter__()
        return self

    def __exit__(self, *args: Any) -> None:
        """End."""
        self._tape.__exit__(*args)

    def __getattr__(self, name: str) -> Any:
        """Return what the tape has."""
        return getattr(self.__dict__["_tape"], name)


def DistributedOptimizer(optimizer: Any, *args: Any, op: str = Average, **kwargs: Any) -> Any:
    """Return the optimizer, which from now on reduces the gradients of copied variables over ranks."""
    stock: Any = type(optimizer)
    first = isinstance(optimizer, v1.train.Optimizer)

    class Reducing(stock):  # type: ignore[misc]
        """Reduces where Horovod does: when v1's compute gradients, and before Keras' apply them."""

        def compute_gradients(self, *args: Any, **kwargs: Any) -> Any:
            pairs = super().compute_gradients(*args, **kwargs)
            return _pairs(pairs, op) if first else pairs

        def apply_gradients(self, grads_and_vars: Any, *args: Any, **kwargs: Any) -> Any:
            pairs = list(grads_and_vars)
            return super().apply_gradients(pairs if first else _pairs(pairs, op), *args, **kwargs)

    Reducing.__name__ = stock.__name__
    optimizer.__class__ = Reducing
    return optimizer


def _pairs(pairs: Sequence[tuple[Any, Any]], op: str) -> list[tuple[Any, Any]]:
    variables = [variable for _, variable in pairs]
    return list(zip(_reduced([gradient for gradient, _ in pairs], variables, op), variables, strict=True))


class BroadcastGlobalVariablesHook(v1.train.SessionRunHook):  # type: ignore[misc]
    """Gives all ranks the values of one when a session begins."""

    def __init__(self, root_rank: int, device: str = "") -> None:
        """Take the rank."""
        self._root, self._op = root_rank, None

    def begin(self) -> None:
        """Make the op."""
        self._op = broadcast_global_variables(self._root)

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Run it."""
        session.run(self._op)


class Compression:
    """Horovod's names of what it sends; everything is sent as it is."""

    none = fp16 = None


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
