"""Watches the batches of Keras' `fit` and `train_on_batch`, outside of v1 graphs."""

from __future__ import annotations

import time
from typing import Any

from .patching import wrap
from .sessions import Asked, Sessions


def install(sessions: Sessions) -> None:
    """Have the models of TensorFlow's Keras tell of their batches."""
    import tensorflow as tf

    def around(original: Any, model: Any, *arguments: Any, **named: Any) -> Any:
        result = original(model, *arguments, **named)
        function = getattr(model, "train_function", None) or result
        if function is None or hasattr(function, "_recmigrate_steps"):
            return result
        model.train_function = _step(sessions, model, function)
        return None if result is None else model.train_function

    name = "make_train_function"
    owner = next((kind for kind in tf.keras.Model.__mro__ if name in vars(kind)), tf.keras.Model)  # Keras 3 inherits it
    wrap(owner, name, around)


def _step(sessions: Sessions, model: Any, function: Any) -> Any:
    def step(*batch: Any) -> Any:
        sessions.begins()
        begun = time.perf_counter()
        with sessions.busy():
            logs = function(*batch)
            losses = {"loss": float(logs["loss"])} if hasattr(logs, "keys") and "loss" in logs else {}
        sessions.ended(time.perf_counter() - begun, losses, None, Asked(None), ())
        sessions.trained(model)
        sessions.steps.took()
        return logs

    step._recmigrate_steps = True  # type: ignore[attr-defined]
    return step
