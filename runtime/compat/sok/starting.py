"""`sok.init` of SOK 2.x and `sok.Init` of 1.x: connect the ranks."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from runtime import ranks

_begun: dict[str, Any] = {}


def init(comm_tool: str = "horovod", use_legacy_optimizer: bool = True) -> None:
    """Start SOK 2.x, after `hvd.init()`; a second call with the same tool has no effect.

    Args:
        comm_tool: only compared with earlier calls; the ranks are connected by the engine of `runtime.ranks.start`.
        use_legacy_optimizer: make `tf.keras.optimizers` and `tf.optimizers` the legacy ones, if TensorFlow has them
            (Keras 2).

    Raises:
        RuntimeError: an earlier call gave another tool.
    """
    if _begun.setdefault("tool", comm_tool) != comm_tool:
        raise RuntimeError(
            f"sok.init was called with {_begun['tool']!r} before: the tool cannot change to {comm_tool!r}"
        )
    ranks.start()
    if use_legacy_optimizer:
        use_legacy()


def use_legacy() -> None:
    """Make `tf.keras.optimizers` and `tf.optimizers` the legacy ones, with schedules and `get` as before TF 2.11."""
    keras: Any = tf.keras
    legacy: Any = getattr(keras.optimizers, "legacy", None)
    # Keras 3 has legacy names that only raise when they are used.
    if hasattr(keras, "Variable") or not hasattr(legacy, "Optimizer") or "keras" in _begun:
        return
    _begun["keras"], _begun["optimizers"] = keras.optimizers, tf.optimizers
    added = {
        "schedules": keras.optimizers.schedules,
        "get": functools.partial(keras.optimizers.get, use_legacy_optimizer=True),
        "deserialize": functools.partial(keras.optimizers.deserialize, use_legacy_optimizer=True),
        "serialize": keras.optimizers.serialize,
    }
    _begun["added"] = [name for name in added if not hasattr(legacy, name)]
    for name in _begun["added"]:
        setattr(legacy, name, added[name])
    keras.optimizers = tf.optimizers = legacy


def Init(**kwargs: Any) -> tf.Tensor:
    """Start SOK 1.x; return the text "OK", in a v1 graph as a tensor for `session.run`.

    Args:
        kwargs: `global_batch_size`, the number of samples of all ranks; `seed`, for which rank 0's value counts.

    Raises:
        KeyError: `global_batch_size` is missing.
        ValueError: it is not an integer above 0, or not a multiple of the number of ranks.
        TypeError: an argument is unknown.
    """
    unknown = sorted(kwargs.keys() - {"global_batch_size", "seed"})
    if unknown:
        raise TypeError(f"sok.Init has no argument {unknown[0]!r}: it takes global_batch_size and seed")
    if "global_batch_size" not in kwargs:
        raise KeyError("sok.Init needs `global_batch_size`, the number of samples of all ranks together")
    batch = kwargs["global_batch_size"]
    engine = ranks.start()
    if not isinstance(batch, int) or batch < 1 or batch % engine.size:
        raise ValueError(f"`global_batch_size` {batch!r} of sok.Init must be a multiple of the {engine.size} ranks")
    _begun.update(tool=_begun.get("tool", "horovod"), batch=batch)
    return tf.constant("OK", name="sok_init")


def has_begun() -> bool:
    """Whether `init` or `Init` was called."""
    return "tool" in _begun


def require_init(what: str) -> None:
    """Check that `init` or `Init` was called.

    Raises:
        RuntimeError: neither was.
    """
    if not has_begun():
        raise RuntimeError(f"{what} needs sok.init() of SOK 2.x, or sok.Init(global_batch_size=...) of 1.x, before it")


def forget() -> None:
    """Undo what `init` changed in Keras, and its call."""
    if "keras" in _begun:
        legacy, tf.keras.optimizers, tf.optimizers = tf.keras.optimizers, _begun["keras"], _begun["optimizers"]
        for name in _begun["added"]:
            delattr(legacy, name)
    _begun.clear()
