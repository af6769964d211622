"""Watches an eager Keras program at its public seams: tapes, optimizers, and layers that look rows up.

Functions are run eagerly, so that every training step, of `fit` or of a loop of the program's own, calls the same
seams with values. The random numbers that a layer draws for its rows are taken back: stock layer and table draw
different ones, and everything after them (other initial values, shuffling, dropout) must be the same on both sides.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import tensorflow as tf

from migrate.verify.tensorflow.interceptor import keras_optimizers, replaced, writing_nothing


class Listener(Protocol):
    """What is told of a program's steps."""

    def on_tape(self) -> None:
        """A tape starts to record."""

    def on_loss(self, target: Any) -> None:
        """Gradients of `target` are asked for."""

    def on_lookup(self, layer: Any, rows: Any) -> None:
        """A layer looked `rows` up."""

    def on_built(self, layer: Any) -> None:
        """A layer made its rows."""

    def on_apply(self, optimizer: Any, pairs: list[tuple[Any, Any]], apply: Callable[[], Any]) -> Any:
        """An optimizer is to apply gradients, which `apply` does."""


def layers() -> list[Any]:
    """Return the layer classes that look rows up, stock and the runtime's."""
    from runtime.keras import Embedding

    return [tf.keras.layers.Embedding, Embedding]


@contextlib.contextmanager
def watching(listener: Listener, seed: int, summed: bool = False) -> Iterator[None]:
    """Put the listener between program and TensorFlow; everything is as before afterwards.

    With `summed`, optimizers are given one gradient for each id, the sum of those of equal ids.
    """
    with contextlib.ExitStack() as stack:
        put = functools.partial(_put, stack)
        tf.config.run_functions_eagerly(True)
        stack.callback(tf.config.run_functions_eagerly, False)
        tf.keras.utils.set_random_seed(seed)
        put(tf.GradientTape, "__enter__", lambda stock: _entering(listener, stock))
        put(tf.GradientTape, "gradient", lambda stock: _differentiating(listener, stock))
        for kind in layers():
            put(kind, "__call__", lambda stock: _looking_up(listener, stock))
            put(kind, "build", lambda stock: _building(listener, stock, seed))
        depth: list[Any] = []
        for kind in keras_optimizers():
            put(kind, "apply_gradients", lambda stock: _applying(listener, stock, depth, summed))
        stack.enter_context(writing_nothing())
        yield


def _put(stack: contextlib.ExitStack, owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
    stack.enter_context(replaced(owner, name, wrapper(getattr(owner, name))))


def _entering(listener: Listener, stock: Any) -> Any:
    @functools.wraps(stock)
    def enter(self: Any) -> Any:
        listener.on_tape()
        return stock(self)

    return enter


def _differentiating(listener: Listener, stock: Any) -> Any:
    @functools.wraps(stock)
    def gradient(self: Any, target: Any, sources: Any, *rest: Any, **named: Any) -> Any:
        listener.on_loss(target)
        return stock(self, target, sources, *rest, **named)

    return gradient


def _looking_up(listener: Listener, stock: Any) -> Any:
    @functools.wraps(stock)
    def call(self: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
        rows = stock(self, inputs, *rest, **named)
        if tf.executing_eagerly():
            listener.on_lookup(self, rows)
        return rows

    return call


def _building(listener: Listener, stock: Any, seed: int) -> Any:
    made: list[Any] = []

    @functools.wraps(stock)
    def build(self: Any, *rest: Any, **named: Any) -> Any:
        done = stock(self, *rest, **named)
        if not any(layer is self for layer in made):
            made.append(self)
            tf.keras.utils.set_random_seed(seed + len(made))
            listener.on_built(self)
        return done

    return build


def _applying(listener: Listener, stock: Any, depth: list[Any], summed: bool) -> Any:
    @functools.wraps(stock)
    def apply_gradients(self: Any, grads_and_vars: Any, *rest: Any, **named: Any) -> Any:
        pairs = list(grads_and_vars)
        if depth:  # the optimizer inside another one, such as that of a loss scale
            return stock(self, pairs, *rest, **named)
        depth.append(self)
        try:
            given = [(_sum_of(gradient), variable) for gradient, variable in pairs] if summed else pairs
            return listener.on_apply(self, pairs, lambda: stock(self, given, *rest, **named))
        finally:
            depth.pop()

    return apply_gradients


def _sum_of(gradient: Any) -> Any:
    """Return rows of distinct ids, each the sum of those of its id; dense gradients as they are."""
    if not isinstance(gradient, tf.IndexedSlices):
        return gradient
    ids, places = tf.unique(gradient.indices)
    return tf.IndexedSlices(
        tf.math.unsorted_segment_sum(gradient.values, places, tf.size(ids)), ids, gradient.dense_shape
    )
