"""Records a Keras program as its user runs it: with its functions traced, and by its own `fit` or loop.

A graph has loops, branches and gradients of its own, so a program may train otherwise in it than eagerly. No value of a
graph is seen before its function ends, and functions may hold any number of steps: what is recorded as a step is what a
call has changed. Losses are added up in a variable, as a graph may be compiled by XLA.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from migrate.verify.keras.recorder import Begin, Recorder, sum_of
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.interceptor import Stop


class Traced(Recorder):
    """Records steps outside of functions until there are enough, and then stops the program."""

    def __init__(self, settings: Settings, begin: Begin) -> None:
        super().__init__(settings, begin)
        self._made = tf.Variable(0, trainable=False)
        self._losses = tf.Variable(tf.zeros([settings.steps], tf.float64), trainable=False)
        self._recorded = self._calling = 0
        self.by_turns = False  #: whether variables are trained first after others were: until then they have own values

    def on_loss(self, target: Any) -> None:
        """Add the loss to those of its step."""
        self._losses.assign_add(tf.one_hot(self._made, self.settings.steps, dtype=tf.float64) * sum_of(target))

    def on_lookup(self, layer: Any, rows: Any) -> None:
        """Record nothing: rows of a graph have no values."""

    def on_apply(self, optimizer: Any, pairs: list[tuple[Any, Any]], apply: Callable[[], Any]) -> Any:
        """Apply a step, but not one whose gradients are of other values than those that its variables begin with."""
        others = bool(self.names)
        with tf.init_scope():
            begun = self.began(optimizer, pairs)
        self.by_turns |= begun and others
        if begun and tf.executing_eagerly():
            self._losses.assign(tf.zeros_like(self._losses))
            return None
        result = apply()
        self._made.assign_add(1)
        self._close_call()
        return result

    @contextlib.contextmanager
    def in_function(self) -> Iterator[None]:
        """Record what the call of a function inside has changed, once the outermost has ended."""
        self._calling += 1
        try:
            yield
        finally:
            self._calling -= 1
        self._close_call()

    def untrained(self) -> list[Any]:
        """Return the layers that are built and not trained."""
        return [one for one in self.layers if not isinstance(one, tf.Variable) and not one.trainable_weights]

    def _close_call(self) -> None:
        if self._calling or not tf.executing_eagerly() or int(self._made) == self._recorded:
            return
        before, self._recorded = self._recorded, int(self._made)
        losses = [float(self._losses.numpy()[before : self._recorded].sum())]
        last = self._recorded >= self.settings.steps
        self.steps.append((losses, *self.values(last)))
        if last:
            raise Stop
