"""Watches loops of a program's own in eager code: gradients of a tape, which an optimizer applies."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

from .patching import wrap
from .sessions import Asked, Sessions


class _Step(threading.local):
    """The step that this thread is in."""

    def __init__(self) -> None:
        self.begun: float | None = None
        self.losses: list[Any] = []  #: whose gradients were taken since
        self.sources: list[Any] = []  #: the variables of the last gradients
        self.function: Any = None  #: the `tf.function` that the program has called


class TapeSteps:
    """A step begins with its first tape, or with the call of a function that trains, and ends once it has trained.

    A function that was once seen to apply gradients trains; a call of it is one step. Of several optimizers of a step
    the first one ends it, so it counts once.
    """

    def __init__(self, sessions: Sessions) -> None:
        """`sessions` are told of the steps."""
        self._sessions, self._step = sessions, _Step()
        self._training: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def install(self) -> None:
        """Have tapes, functions and optimizers tell that they are used."""
        import tensorflow as tf

        wrap(tf.GradientTape, "__enter__", self._entered)
        wrap(tf.GradientTape, "gradient", self._differentiated)
        wrap(type(tf.function(lambda: None)), "__call__", self._called)
        for kind in optimizers():
            wrap(kind, "apply_gradients", self._applied)
            wrap(kind, "apply", self._applied)  # of Keras 3

    def _hears(self) -> bool:
        import tensorflow as tf

        return not self._sessions.is_own() and bool(tf.compat.v1.executing_eagerly_outside_functions())

    def _entered(self, original: Any, tape: Any) -> Any:
        if self._hears():
            self._begin()
        return original(tape)

    def _begin(self) -> None:
        if self._step.begun is None:
            self._sessions.begins()
            self._step.begun, self._step.losses = time.perf_counter(), []

    def _differentiated(self, original: Any, tape: Any, target: Any, sources: Any, *more: Any, **named: Any) -> Any:
        import tensorflow as tf

        if self._hears():
            with self._sessions.unharmed():
                self._step.losses += tf.nest.flatten(target)
                self._step.sources = tf.nest.flatten(sources)
        return original(tape, target, sources, *more, **named)

    def _applied(self, original: Any, optimizer: Any, *arguments: Any, **named: Any) -> Any:
        import tensorflow as tf

        if not self._hears():
            return original(optimizer, *arguments, **named)
        with self._sessions.busy():  # an optimizer may call another, or itself
            result = original(optimizer, *arguments, **named)
        model = SimpleNamespace(optimizer=optimizer, weights=self._step.sources)
        if tf.executing_eagerly():
            self._end(model, self._step.losses)
        elif self._step.function is not None:
            self._training.setdefault(self._step.function, model)
        return result

    def _called(self, original: Any, function: Any, *arguments: Any, **named: Any) -> Any:
        import tensorflow as tf

        if self._step.function is not None or not tf.executing_eagerly() or not self._hears():
            return original(function, *arguments, **named)
        if function in self._training:
            self._begin()
        self._step.function = function
        try:
            result = original(function, *arguments, **named)
        finally:
            self._step.function = None
        if function in self._training:
            self._end(self._training[function], tf.nest.flatten(result))
        return result

    def _end(self, model: Any, results: list[Any]) -> None:
        begun, self._step.begun = self._step.begun, None
        if begun is None:
            return
        with self._sessions.unharmed(), self._sessions.busy():
            losses = dict(_numbers(results)) if self._sessions.hears_losses else {}
            self._sessions.ended(time.perf_counter() - begun, losses, None, Asked(None), ())
            self._sessions.trained(model)
        self._sessions.steps.took()


def _numbers(results: list[Any]) -> Iterator[tuple[str, float]]:
    """Yield the means of losses by names, or the numbers among what a function that trains has returned."""
    import tensorflow as tf

    floats = [one for one in results if tf.is_tensor(one) and one.dtype.is_floating and hasattr(one, "numpy")]
    for number, loss in enumerate([one for one in floats if one.shape.rank == 0] or floats, 1):
        yield "loss" if number == 1 else f"loss {number}", float(tf.reduce_mean(loss))


def optimizers() -> list[Any]:
    """Return the classes of optimizers that eager code trains with; those that a program adds call one of these."""
    import tensorflow as tf

    known = tf.keras.optimizers
    bases = [known.Optimizer, getattr(getattr(known, "legacy", None), "Optimizer", known.Optimizer)]
    kinds = [kind for base in (*bases, tf.compat.v1.train.Optimizer) for kind in (*base.__mro__, *_below(base))]
    return [one for one in dict.fromkeys(kinds) if hasattr(one, "apply_gradients")]


def _below(kind: Any) -> Iterator[Any]:
    for child in kind.__subclasses__():
        yield from (child, *_below(child))
