"""Intercepts the tapes, optimizers, embedding layers and looked-up variables of a Keras program.

Functions are run eagerly, so that every training step, of `fit` or of a custom loop, makes these calls with values; or
they are traced, as the program's user does.
After a layer has created its rows, or a program a variable, the random seed is set again: stock layers, variables and
tables use different numbers of random values, but everything after them (initial values, shuffling, dropout) must be
the same in both programs.
"""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import tensorflow as tf

import runtime.keras
from migrate.verify.keras.recorder import Recorder, Traced
from migrate.verify.replacing import around
from migrate.verify.tensorflow.branches import drawing_float32, seeded_by_number
from migrate.verify.tensorflow.interceptor import keras_optimizers, writing_nothing

#: Code of these makes variables of its own, and not as many in both programs.
_LIBRARIES = {"keras", "migrate", "runtime", "tensorflow", "tf_keras"}


def layers() -> list[Any]:
    """Return the embedding layer classes of Keras and of the runtime."""
    return [tf.keras.layers.Embedding, runtime.keras.Embedding]


def variables() -> list[Any]:
    """Return the classes of TensorFlow's variables and of the runtime's."""
    return [type(tf.Variable(0.0)), runtime.keras.TableVariable]


@contextlib.contextmanager
def watching(recorder: Recorder, seed: int) -> Iterator[None]:
    """Send the events of the program, whose functions run eagerly, to the recorder while the block runs."""
    tf.config.run_functions_eagerly(True)
    try:
        with _sending(recorder, seed):
            yield
    finally:
        tf.config.run_functions_eagerly(False)


@contextlib.contextmanager
def watching_traced(recorder: Traced, seed: int) -> Iterator[None]:
    """Send the events of the program, whose functions are traced, to the recorder while the block runs."""

    def call(stock: Any, *rest: Any, **named: Any) -> Any:
        with recorder.in_function():
            return stock(*rest, **named)

    with around((type(tf.function(lambda: None)), "__call__", call)), seeded_by_number(), _sending(recorder, seed):
        yield


@contextlib.contextmanager
def _sending(recorder: Recorder, seed: int) -> Iterator[None]:
    sending = _Sending(recorder, seed)
    tape = tf.GradientTape
    put: list[tuple[Any, str, Callable[..., Any]]] = [(tape, "__enter__", sending.entering)]
    put += [(tape, "gradient", sending.differentiating)]
    for kind in layers():
        put += [(kind, "__call__", sending.looking_up), (kind, "build", partial(sending.building, []))]
    for kind in columns():
        put += [
            (kind, "create_state", partial(sending.creating, [])),
            (kind, "_get_dense_tensor_internal", sending.looking_up_column),
        ]
    put += [(kind, "sparse_read", partial(sending.reading, [])) for kind in variables()]
    making = partial(sending.making, [])
    put += [(type(tf.Variable), "__call__", making), (runtime.keras, "table_variable", making)]
    put += [(kind, "apply_gradients", sending.applying) for kind in keras_optimizers()]
    put += [(tf.keras.layers.Layer, "__call__", sending.calling)]  # the last, as those of `layers` inherit it
    tf.keras.utils.set_random_seed(seed)
    with around(*put), writing_nothing(), drawing_float32():
        yield


class _Sending:
    """Calls that are made in place of those of the program, and tell of them."""

    def __init__(self, recorder: Recorder, seed: int) -> None:
        self._recorder, self._seed = recorder, seed
        self._inside: list[Any] = []  # layers and columns that are called
        self._depth: list[Any] = []  # optimizers that are called

    def _begin_anew(self, kind: int, objects: list[Any], new: Any) -> None:
        """Set the random seed again, by the number of what was made so far."""
        objects.append(new)
        tf.keras.utils.set_random_seed(self._seed + kind + len(objects))

    def entering(self, stock: Any, tape: Any) -> Any:
        self._recorder.on_tape()
        return stock(tape)

    def differentiating(self, stock: Any, tape: Any, target: Any, sources: Any, *rest: Any, **named: Any) -> Any:
        self._recorder.on_loss(target)
        return stock(tape, target, sources, *rest, **named)

    def looking_up(self, stock: Any, layer: Any, inputs: Any, *rest: Any, **named: Any) -> Any:
        rows = self._called_inside(layer, partial(self.calling, stock), layer, inputs, *rest, **named)
        if tf.executing_eagerly():
            self._recorder.on_lookup(layer, rows)
        return rows

    def calling(self, stock: Any, layer: Any, *inputs: Any, **named: Any) -> Any:
        self._recorder.on_call(layer, inputs[0] if len(inputs) == 1 else inputs or named)
        return stock(layer, *inputs, **named)

    def looking_up_column(self, stock: Any, column: Any, sparse_tensors: Any, state_manager: Any) -> Any:
        rows = self._called_inside(column, stock, column, sparse_tensors, state_manager)
        known = rows_of_columns(state_manager)
        if tf.executing_eagerly() and column in known:
            self._recorder.on_lookup(known[column], rows)
        return rows

    def _called_inside(self, owner: Any, stock: Any, *rest: Any, **named: Any) -> Any:
        self._inside.append(owner)
        try:
            return stock(*rest, **named)
        finally:
            self._inside.pop()

    def reading(self, read: list[Any], stock: Any, variable: Any, indices: Any, name: str | None = None) -> Any:
        rows = stock(variable, indices, name=name)
        if self._inside or not variable.trainable:
            return rows
        if not any(one is variable for one in read):
            read.append(variable)
            self._recorder.on_built(variable)
        if tf.executing_eagerly():
            self._recorder.on_lookup(variable, rows)
        return rows

    def making(self, objects: list[Any], stock: Any, *rest: Any, **named: Any) -> Any:
        caller = sys._getframe(2).f_globals.get("__name__", "")
        done = stock(*rest, **named)
        if caller.partition(".")[0] not in _LIBRARIES:
            self._begin_anew(1000, objects, None)
        return done

    def building(self, objects: list[Any], stock: Any, layer: Any, *rest: Any, **named: Any) -> Any:
        done = stock(layer, *rest, **named)
        if not any(one is layer for one in objects):
            self._begin_anew(0, objects, layer)
            self._recorder.on_built(layer)
        return done

    def creating(self, objects: list[Any], stock: Any, column: Any, state_manager: Any) -> None:
        for rows in created(stock, column, state_manager):
            self._begin_anew(2000, objects, rows)
            self._recorder.on_built(rows)

    def applying(self, stock: Any, optimizer: Any, grads_and_vars: Any, *rest: Any, **named: Any) -> Any:
        pairs = list(grads_and_vars)
        if self._depth:  # the inner optimizer of a wrapper, such as a loss-scale optimizer
            return stock(optimizer, pairs, *rest, **named)
        self._depth.append(optimizer)
        try:
            return self._recorder.on_apply(optimizer, pairs, lambda: stock(optimizer, pairs, *rest, **named))
        finally:
            self._depth.pop()


class ColumnRows:
    """The variable of a column in a layer, in place of a layer that holds one."""

    def __init__(self, variable: Any) -> None:
        """Take the variable, or the one that stands for the table."""
        self.weights = self.trainable_weights = [variable]


def columns() -> list[Any]:
    """Return the classes of embedding columns of TensorFlow and of the runtime."""
    importlib.import_module("runtime.feature_column")
    item = _quietly(tf.feature_column.categorical_column_with_identity)("item", 2)
    stock = type(_quietly(tf.feature_column.embedding_column)(item, 1))
    return [stock, *stock.__subclasses__()]


def _quietly(function: Any) -> Any:
    """Return a function of TensorFlow without its warning that it is deprecated."""
    return getattr(function, "__wrapped__", function)


def created(stock: Any, column: Any, state_manager: Any) -> Iterator[ColumnRows]:
    """Let a column create its rows in a layer, and yield each variable of them."""
    before = [*state_manager._layer.weights]
    stock(column, state_manager)
    for variable in state_manager._layer.weights:
        if not any(variable is one for one in before):
            rows_of_columns(state_manager)[column] = ColumnRows(variable)
            yield rows_of_columns(state_manager)[column]


def rows_of_columns(state_manager: Any) -> dict[Any, ColumnRows]:
    """Return the rows that columns have created in a layer."""
    rows: dict[Any, ColumnRows] = vars(state_manager).setdefault("watched_rows", {})
    return rows
