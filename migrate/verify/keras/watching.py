"""Intercepts the tapes, optimizers, embedding layers and looked-up variables of a Keras program.

Functions are run eagerly, so that every training step, of `fit` or of a custom loop, makes these calls with values; or
they are traced, as the program's user does.
After a layer has created its rows, or a program a variable, the random seed is set again: stock layers, variables and
tables use different numbers of random values, but everything after them (initial values, shuffling, dropout) must be
the same in both programs.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import tensorflow as tf

import runtime.keras
from migrate.verify.keras.columns import columns, creating, looking_up
from migrate.verify.tensorflow.branches import seeded_by_number
from migrate.verify.tensorflow.interceptor import keras_optimizers, replaced, writing_nothing

#: Code of these makes variables of its own, and not as many in both programs.
_LIBRARIES = {"keras", "migrate", "runtime", "tensorflow", "tf_keras"}


class Listener(Protocol):
    """Receives the events of a program."""

    def on_tape(self) -> None:
        """A tape starts recording."""

    def on_loss(self, target: Any) -> None:
        """The program computes gradients of `target`."""

    def on_lookup(self, layer: Any, rows: Any) -> None:
        """A layer has looked up `rows`."""

    def on_built(self, layer: Any) -> None:
        """A layer has created its rows."""

    def on_apply(self, optimizer: Any, pairs: list[tuple[Any, Any]], apply: Callable[[], Any]) -> Any:
        """The program applies gradients; `apply` makes the original call."""


class FunctionListener(Listener, Protocol):
    """Receives the calls of functions as well."""

    def in_function(self) -> contextlib.AbstractContextManager[None]:
        """A function is called inside."""


def layers() -> list[Any]:
    """Return the embedding layer classes of Keras and of the runtime."""
    return [tf.keras.layers.Embedding, runtime.keras.Embedding]


def variables() -> list[Any]:
    """Return the classes of TensorFlow's variables and of the runtime's."""
    return [type(tf.Variable(0.0)), runtime.keras.TableVariable]


@contextlib.contextmanager
def watching(listener: Listener, seed: int) -> Iterator[None]:
    """Send the events of the program, whose functions run eagerly, to the listener while the block runs."""
    tf.config.run_functions_eagerly(True)
    try:
        with _sending(listener, seed):
            yield
    finally:
        tf.config.run_functions_eagerly(False)


@contextlib.contextmanager
def watching_traced(listener: FunctionListener, seed: int) -> Iterator[None]:
    """Send the events of the program, whose functions are traced, to the listener while the block runs."""
    function = type(tf.function(lambda: None))
    called = _calling(listener, function.__call__)
    with replaced(function, "__call__", called), seeded_by_number(), _sending(listener, seed):
        yield


@contextlib.contextmanager
def _sending(listener: Listener, seed: int) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        put = functools.partial(_put, stack)
        tf.keras.utils.set_random_seed(seed)
        put(tf.GradientTape, "__enter__", lambda stock: _entering(listener, stock))
        put(tf.GradientTape, "gradient", lambda stock: _differentiating(listener, stock))
        inside: list[Any] = []
        for kind in layers():
            put(kind, "__call__", lambda stock: _looking_up(listener, stock, inside))
            put(kind, "build", lambda stock: _building(listener, stock, seed))
        for kind in columns():
            put(kind, "create_state", lambda stock: _creating(listener, stock, seed))
            put(kind, "_get_dense_tensor_internal", lambda stock: looking_up(stock, listener.on_lookup, inside))
        for kind in variables():
            put(kind, "sparse_read", lambda stock: _reading(listener, stock, inside))
        made: list[Any] = []
        put(type(tf.Variable), "__call__", lambda stock: _making(stock, seed, made))
        put(runtime.keras, "table_variable", lambda stock: _making(stock, seed, made))
        depth: list[Any] = []
        for kind in keras_optimizers():
            put(kind, "apply_gradients", lambda stock: _applying(listener, stock, depth))
        stack.enter_context(writing_nothing())
        yield


def _put(stack: contextlib.ExitStack, owner: Any, name: str, wrapper: Callable[[Any], Any]) -> None:
    stack.enter_context(replaced(owner, name, wrapper(getattr(owner, name))))


def _calling(listener: FunctionListener, stock: Any) -> Any:
    @functools.wraps(stock)
    def call(*rest: Any, **named: Any) -> Any:
        with listener.in_function():
            return stock(*rest, **named)

    return call


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


def _looking_up(listener: Listener, stock: Any, inside: list[Any]) -> Any:
    @functools.wraps(stock)
    def call(self: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
        inside.append(self)
        try:
            rows = stock(self, inputs, *rest, **named)
        finally:
            inside.pop()
        if tf.executing_eagerly():
            listener.on_lookup(self, rows)
        return rows

    return call


def _reading(listener: Listener, stock: Any, inside: list[Any]) -> Any:
    known: list[Any] = []

    @functools.wraps(stock)
    def sparse_read(self: Any, indices: Any, name: str | None = None) -> Any:
        rows = stock(self, indices, name=name)
        if inside or not self.trainable:
            return rows
        if not any(one is self for one in known):
            known.append(self)
            listener.on_built(self)
        if tf.executing_eagerly():
            listener.on_lookup(self, rows)
        return rows

    return sparse_read


def _making(stock: Any, seed: int, made: list[Any]) -> Any:
    @functools.wraps(stock)
    def make(*rest: Any, **named: Any) -> Any:
        caller = sys._getframe(1).f_globals.get("__name__", "")
        done = stock(*rest, **named)
        if caller.partition(".")[0] not in _LIBRARIES:
            made.append(None)
            tf.keras.utils.set_random_seed(seed + 1000 + len(made))
        return done

    return make


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


def _creating(listener: Listener, stock: Any, seed: int) -> Any:
    made: list[Any] = []

    def built(rows: Any) -> None:
        made.append(rows)
        tf.keras.utils.set_random_seed(seed + 2000 + len(made))
        listener.on_built(rows)

    return creating(stock, built)


def _applying(listener: Listener, stock: Any, depth: list[Any]) -> Any:
    @functools.wraps(stock)
    def apply_gradients(self: Any, grads_and_vars: Any, *rest: Any, **named: Any) -> Any:
        pairs = list(grads_and_vars)
        if depth:  # the inner optimizer of a wrapper, such as a loss-scale optimizer
            return stock(self, pairs, *rest, **named)
        depth.append(self)
        try:
            return listener.on_apply(self, pairs, lambda: stock(self, pairs, *rest, **named))
        finally:
            depth.pop()

    return apply_gradients
