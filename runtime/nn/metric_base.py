"""The base class of metrics: what a program's own metric keeps in Python is computed from the values of each step.

A graph is built once, but a metric such as

    class LogLoss(nn.metric.Metric):
        def update(self, pred, label):
            self.total += float(nn.functional.log_loss(pred, label).numpy().mean())

counts steps. In a graph, its `update`, `accumulate` and `reset` become ops that call the method in Python with the
values of the step: inside, tensors have `.numpy()`. Outside of graphs they are the methods themselves.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
COLLECTION = "runtime/nn/metric_updates"
_LOCK = threading.RLock()  # ops of one step may run at the same time


def updates() -> list[tf.Operation]:
    """Return the update ops of all metrics in the current graph, in the order of the calls."""
    ops: list[tf.Operation] = v1.get_collection(COLLECTION)
    return ops


class Metric:
    """A metric: a subclass defines `update`, `accumulate`, `reset` and `name`."""

    def __init_subclass__(cls, in_graph: bool = False, **named: Any) -> None:
        """Let the methods of a subclass run in the steps of a graph, unless it computes `in_graph` itself."""
        super().__init_subclass__(**named)
        for name, wrap in () if in_graph else _WRAPPED.items():
            if name in vars(cls):
                setattr(cls, name, wrap(vars(cls)[name]))

    def compute(self, *args: Any) -> Any:
        """Return what `update` takes: the arguments themselves."""
        return args

    def update(self, *args: Any) -> Any:
        """Add a batch."""
        raise NotImplementedError

    def accumulate(self) -> Any:
        """Return the value over all batches since the last reset."""
        raise NotImplementedError

    def name(self) -> Any:
        """Return the name."""
        raise NotImplementedError

    def reset(self) -> Any:
        """Forget all batches."""
        raise NotImplementedError


def _directly(metric: Metric) -> bool:
    """Whether a method computes at once: on the values of a step, outside of graphs, or while the metric is made."""
    return bool(tf.executing_eagerly()) or "_making" in vars(metric)


def _init(method: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(method)
    def init(self: Metric, *args: Any, **named: Any) -> None:
        outermost = "_making" not in vars(self)
        vars(self)["_making"] = True
        try:
            method(self, *args, **named)
        finally:
            if outermost:
                vars(self).pop("_making", None)

    return init


def _update(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def update(self: Metric, *args: Any, **named: Any) -> Any:
        if _directly(self):
            return method(self, *args, **named)
        parts = tf.nest.flatten((args, named))
        tensors = [part for part in parts if tf.is_tensor(part)]

        def add(*values: Any) -> None:
            left = iter(values)
            filled = [next(left) if tf.is_tensor(part) else part for part in parts]
            positional, keywords = tf.nest.pack_sequence_as((args, named), filled)
            with _LOCK:
                method(self, *positional, **keywords)

        done = tf.py_function(add, tensors, [], name=f"{type(self).__name__}_update")
        v1.add_to_collection(COLLECTION, done)
        return done

    return update


def _accumulate(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def accumulate(self: Metric) -> Any:
        if _directly(self):
            return method(self)

        def value() -> Any:
            with _LOCK:
                result = method(self)
            if result is None:
                raise ValueError(
                    f"accumulate of the metric `{type(self).__name__}` returned None: let it return a number, or a "
                    "list of numbers"
                )
            return np.asarray(result, np.float64)

        return tf.py_function(value, [], tf.float64, name=f"{type(self).__name__}_accumulate")

    return accumulate


def _reset(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def reset(self: Metric) -> Any:
        if _directly(self):
            return method(self)

        def forget() -> None:
            with _LOCK:
                method(self)

        return tf.py_function(forget, [], [], name=f"{type(self).__name__}_reset")

    return reset


_WRAPPED: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "__init__": _init,
    "update": _update,
    "accumulate": _accumulate,
    "reset": _reset,
}
