"""Watches the batches of Keras' `fit` and `train_on_batch`, outside of v1 graphs."""

from __future__ import annotations

import importlib
import time
from collections import Counter
from typing import Any

from .noted import Noted

wrap = importlib.import_module("_recmigrate_tracer.patching").wrap


class KerasSteps:
    """Puts a function around each that trains a model on a batch."""

    def __init__(self, watched: Any, noted: Noted) -> None:
        self._watched, self._noted = watched, noted

    def install(self) -> None:
        """Have the models of TensorFlow's Keras tell of their batches."""
        import tensorflow as tf

        wrap(tf.keras.Model, "make_train_function", self._made)

    def _made(self, original: Any, model: Any, *arguments: Any, **named: Any) -> Any:
        made = original(model, *arguments, **named)
        function = getattr(model, "train_function", None) or made
        if function is None or hasattr(function, "_recmigrate_steps"):
            return made

        def step(*batch: Any) -> Any:
            self._watched.begin()
            begun = time.perf_counter()
            with self._watched.busy():
                logs = function(*batch)
                losses = {"loss": float(logs["loss"])} if hasattr(logs, "keys") and "loss" in logs else {}
            self._noted.step(time.perf_counter() - begun, losses)
            self._slots(model)
            self._watched.steps.took()
            return logs

        step._recmigrate_steps = True  # type: ignore[attr-defined]
        model.train_function = step
        return None if made is None else step

    def _slots(self, model: Any) -> None:
        """Note how many of the optimizer's variables there are for one of the model's with this shape."""
        if not self._noted.slots:
            variables = getattr(model.optimizer, "variables", ())
            held = Counter(str(tuple(one.shape)) for one in (variables() if callable(variables) else variables))
            own = Counter(str(tuple(one.shape)) for one in model.weights)
            self._noted.slots = {shape: held[shape] // count for shape, count in own.items()}
