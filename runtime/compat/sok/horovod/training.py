"""What reduces gradients in Horovod: the tape, the optimizer, and the hook that lets ranks begin alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from runtime import _tf_private, ranks
from runtime.compat.sok.horovod.exchanges import Average, broadcast_global_variables, known, of_all
from runtime.compat.sok.variables import is_shared

__all__ = ["BroadcastGlobalVariablesHook", "DistributedGradientTape", "DistributedOptimizer"]

v1: Any = tf.compat.v1


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
        of_all("DistributedGradientTape", process_set)
        self._tape, self._op = gradtape, known("DistributedGradientTape", op) or Average
        self._dense = sparse_as_dense

    @_tf_private.as_written
    def gradient(self, target: Any, sources: Any, output_gradients: Any = None, **kwargs: Any) -> Any:
        """Return the gradients for `sources`, a variable or a list of them; other arguments as of a GradientTape."""
        gradients = self._tape.gradient(target, sources, output_gradients, **kwargs)
        if not isinstance(sources, (list, tuple)):
            return _reduced([gradients], [sources], self._op, self._dense)[0]
        return _reduced(gradients, sources, self._op, self._dense)

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
    of_all("DistributedOptimizer", process_set)
    op = known("DistributedOptimizer", op) or Average
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
