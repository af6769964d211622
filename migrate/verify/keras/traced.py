"""Runs a converted Keras program as its user does: with its functions traced, and by its own `fit` or loop.

The proof runs functions eagerly, to see each value. A graph has loops, branches and gradients of its own, so a program
may train in the one way and not in the other.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from migrate.errors import MigrateError
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.interceptor import Stop, keras_optimizers, replaced, writing_nothing
from migrate.verify.tensorflow.program import run_script


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Run the program for as many steps as are compared; raises MigrateError if it fails."""
    settings: Settings = job["settings"]
    try:
        run_script(job["path"], job["directory"], _counting(settings), settings.arguments)
    except MigrateError as error:
        told = (
            "it trains with its functions run eagerly, but not with them traced, as in a run without `migrate verify`"
        )
        raise MigrateError(f"{error} ({told})") from error
    return {}


class _Steps:
    """Counts the steps of optimizers, also in graphs, and stops the program outside of functions once there are enough.

    A variable counts, as a graph may be compiled by XLA.
    """

    def __init__(self, enough: int) -> None:
        self._made, self._enough = tf.Variable(0, trainable=False), enough
        self._applying = self._calling = 0

    def applying(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        """Return an optimizer's `apply_gradients` that counts; not that of an inner optimizer, or a base class."""

        @functools.wraps(stock)
        def apply_gradients(*args: Any, **kwargs: Any) -> Any:
            self._applying += 1
            try:
                done = stock(*args, **kwargs)
            finally:
                self._applying -= 1
            if not self._applying:
                self._made.assign_add(1)
                self._end()
            return done

        return apply_gradients

    def calling(self, stock: Callable[..., Any]) -> Callable[..., Any]:
        """Return a `tf.function` that ends the program after it."""

        @functools.wraps(stock)
        def call(*args: Any, **kwargs: Any) -> Any:
            self._calling += 1
            try:
                done = stock(*args, **kwargs)
            finally:
                self._calling -= 1
            self._end()
            return done

        return call

    def _end(self) -> None:
        if tf.executing_eagerly() and not self._calling and not self._applying and int(self._made) >= self._enough:
            raise Stop


@contextlib.contextmanager
def _counting(settings: Settings) -> Iterator[None]:
    with contextlib.ExitStack() as stack:
        tf.keras.utils.set_random_seed(settings.seed)
        steps = _Steps(settings.steps)
        for kind in keras_optimizers():
            stack.enter_context(replaced(kind, "apply_gradients", steps.applying(kind.apply_gradients)))
        function = type(tf.function(lambda: None))
        stack.enter_context(replaced(function, "__call__", steps.calling(function.__call__)))
        stack.enter_context(writing_nothing())
        yield
