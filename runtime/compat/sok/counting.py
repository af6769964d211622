"""Step counters of `sok.OptimizerWrapper`, separate from those of the wrapped optimizer.

An optimizer may be wrapped for SOK's variables and also be used itself for dense ones, in separate calls; each then
counts its own steps, as in SOK. While the wrapper updates, its counters replace the optimizer's: `iterations` in Keras,
and in `tf.compat.v1.train` the variables that are not slots, such as Adam's beta powers.
"""

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from runtime import _tf_private

v1: Any = tf.compat.v1
_wrapped: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
_ABSENT = object()


class Steps(_tf_private.Parent):
    """The step counters of a wrapper; saved in checkpoints of the optimizer or the wrapper."""

    def __init__(self, optimizer: Any) -> None:
        """Take the innermost optimizer, which does the counting."""
        self._optimizer = optimizer

    @property
    def iterations(self) -> Any:
        """The step counter of a Keras optimizer."""
        raise AttributeError("an optimizer of tf.compat.v1.train has no `iterations`")

    def _in_place(self) -> dict[str, Any]:
        """Return the optimizer's attributes to replace while the wrapper updates."""
        raise NotImplementedError

    @contextlib.contextmanager
    def counting(self) -> Iterator[None]:
        """Let the optimizer use these counters."""
        # Bypass `__setattr__`, by which TensorFlow and Keras would track the temporary values.
        own = vars(self._optimizer)
        put = self._in_place()
        before = {name: own.get(name, _ABSENT) for name in put}
        own.update(put)
        try:
            yield
        finally:
            for name, value in before.items():
                if value is _ABSENT:
                    del own[name]
                else:
                    own[name] = value


class _OfKeras(Steps):
    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer)
        kind = type(vars(optimizer).get("_iterations"))
        keras_3 = kind is not type(None) and not issubclass(kind, tf.Variable)
        with tf.init_scope():
            make: Any = kind if keras_3 else tf.Variable
            self._iterations = make(0, dtype="int64", trainable=False, name="sok_iterations")

    @property
    def iterations(self) -> Any:
        return self._iterations

    def children(self) -> dict[str, Any]:
        return {"iterations": self._iterations}

    def _in_place(self) -> dict[str, Any]:
        return {"_iterations": self._iterations}


class _OfTensorFlow1(Steps):
    def __init__(self, optimizer: Any) -> None:
        super().__init__(optimizer)
        self._variables: dict[tuple[str, Any], Any] = {}

    def children(self) -> dict[str, Any]:
        graph = None if tf.executing_eagerly() else v1.get_default_graph()
        return {name: variable for (name, of), variable in self._variables.items() if of in (None, graph)}

    def _in_place(self) -> dict[str, Any]:
        # A pending restore of the optimizer's own powers must not be applied to these.
        restoring = ("_handle_deferred_dependencies", "_preload_simple_restoration")
        return {"_non_slot_dict": self._variables, **{name: getattr(self, name) for name in restoring}}


def steps_of_a_wrapper(optimizer: Any) -> Steps:
    """Return new counters for a wrapper of an optimizer, at 0; checkpoints of the optimizer save them from now on."""
    counting = _innermost(optimizer)
    steps = (_OfTensorFlow1 if isinstance(counting, v1.train.Optimizer) else _OfKeras)(counting)
    number = _wrapped.get(counting, 0)
    _wrapped[counting] = number + 1
    if isinstance(counting, _tf_private.Trackable):
        _tf_private.track(counting, f"sok_wrapper_{number}" if number else "sok_wrapper", steps)
    return steps


def _innermost(optimizer: Any) -> Any:
    """Return the optimizer inside of loss scaling or gradient reduction that makes the steps."""
    while True:
        inner = getattr(optimizer, "inner_optimizer", None)
        if inner is None and isinstance(optimizer, v1.train.Optimizer):
            inner = getattr(optimizer, "_optimizer", None)
        if not hasattr(inner, "apply_gradients"):
            return optimizer
        optimizer = inner
