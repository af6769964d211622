"""`sok.init` of SOK 2.x and `sok.Init` of 1.x: connect the ranks."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from runtime import ranks

__all__ = ["Init", "forget", "init", "require_init"]

_begun: dict[str, Any] = {}


def init(comm_tool: str = "horovod", use_legacy_optimizer: bool = True) -> None:
    """Begin SOK 2.x, after `hvd.init()`; a second call with the same tool does nothing.

    Args:
        comm_tool: accepted; the ranks are connected by what `runtime.ranks.start` finds.
        use_legacy_optimizer: let `tf.keras.optimizers` and `tf.optimizers` be the legacy ones where TensorFlow has
            some (Keras 2).

    Raises:
        RuntimeError: another tool than before.
    """
    if _begun.setdefault("tool", comm_tool) != comm_tool:
        raise RuntimeError(
            f"sok.init was called with {_begun['tool']!r} before: the tool cannot change to {comm_tool!r}"
        )
    ranks.start()
    if use_legacy_optimizer:
        _use_legacy()


def _use_legacy() -> None:
    """Let `tf.keras.optimizers` and `tf.optimizers` be the older ones, which have schedules beside them as they had."""
    keras: Any = tf.keras
    legacy: Any = getattr(keras.optimizers, "legacy", None)
    # Keras 3 has names there that only fail when they are used.
    if hasattr(keras, "Variable") or not hasattr(legacy, "Optimizer") or "keras" in _begun:
        return
    _begun["keras"], _begun["optimizers"] = keras.optimizers, tf.optimizers
    if not hasattr(legacy, "schedules"):
        legacy.schedules = keras.optimizers.schedules
        _begun["legacy"] = legacy
    keras.optimizers = tf.optimizers = legacy


def Init(**kwargs: Any) -> tf.Tensor:
    """Begin SOK 1.x; return the text "OK", in a v1 graph as what `session.run` takes.

    Args:
        kwargs: `global_batch_size`, the samples of all ranks; `seed`, which rank 0 decides on.

    Raises:
        KeyError: no `global_batch_size`.
        ValueError: it is no integer above 0, or ranks cannot have equal shares of it.
        TypeError: an unknown argument.
    """
    unknown = sorted(kwargs.keys() - {"global_batch_size", "seed"})
    if unknown:
        raise TypeError(f"sok.Init does not know the argument {unknown[0]!r}: it takes global_batch_size and seed")
    if "global_batch_size" not in kwargs:
        raise KeyError("sok.Init needs `global_batch_size`, the number of samples of all ranks together")
    batch = kwargs["global_batch_size"]
    engine = ranks.start()
    if not isinstance(batch, int) or batch < 1 or batch % engine.size:
        raise ValueError(f"`global_batch_size` {batch!r} of sok.Init must be a multiple of the {engine.size} ranks")
    _begun.update(tool=_begun.get("tool", "horovod"), batch=batch)
    return tf.constant("OK", name="sok_init")


def require_init(what: str) -> None:
    """Check that `init` or `Init` was called.

    Raises:
        RuntimeError: neither was.
    """
    if not _begun:
        raise RuntimeError(f"{what} comes after sok.init() of SOK 2.x, or sok.Init(global_batch_size=...) of 1.x")


def forget() -> None:
    """Undo what `init` changed in Keras, and forget that it was called."""
    if "keras" in _begun:
        tf.keras.optimizers, tf.optimizers = _begun["keras"], _begun["optimizers"]
    if "legacy" in _begun:
        del _begun["legacy"].schedules
    _begun.clear()
