"""Names of DeepRec that programs import or call but that are not supported; using one raises an error with a remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

__all__ = ["CollectiveStrategy", "WorkQueue", "keep_weights", "lacking"]


class WorkQueue:
    """DeepRec's queue of files that workers share."""

    def __init__(self, works: Any, *settings: Any, **named: Any) -> None:
        """Refuse it.

        Raises:
            NotImplementedError: always.
        """
        del settings, named
        raise NotImplementedError(
            f"WorkQueue({works!r}) is not supported: read the files by tf.data.Dataset.from_tensor_slices(files), with "
            "shuffle and repeat for its epochs and shard(workers, worker) for each worker's share"
        )


class CollectiveStrategy:
    """DeepRec's scopes of synchronous training."""

    def __init__(self) -> None:
        """Refuse it.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError(
            "CollectiveStrategy is not supported: call tf.config.experimental.enable_distributed_strategy('collective')"
            ", wrap the optimizer in horovod.tensorflow.DistributedOptimizer and start the program by "
            "python -m runtime.launch --engine horovod"
        )


def keep_weights(scope: Any, *settings: Any, **named: Any) -> NoReturn:
    """Refuse it.

    Raises:
        NotImplementedError: always.
    """
    del scope, settings, named
    raise NotImplementedError(
        "keep_weights of a variable_scope is not supported: train in float32 (without --bf16), or create the variables "
        "in float32 and cast them where they are read"
    )


def lacking(module: str) -> Callable[[str], NoReturn]:
    """Return the `__getattr__` of a module that only has the names that programs for EmbeddingVariables use."""

    def get(name: str) -> NoReturn:
        advice = "" if name.startswith("__") else ": use its counterpart in tf.compat.v1, or leave it out"
        raise AttributeError(f"{module}.{name} is not supported by runtime.compat.deeprec{advice}")

    return get
