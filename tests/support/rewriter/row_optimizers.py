"""Optimizers that compose a step of reads and writes of rows, as TensorFlow's former contrib and its users did."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

v1: Any = tf.compat.v1
train: Any = v1.train
raw = tf.raw_ops

__all__ = ["OPTIMIZERS", "LazyAdam"]


def _scatter(kind: str, variable: Any, ids: Any, values: Any, then_read: bool = False) -> Any:
    """Return a scatter; of a resource variable also what its authors return: the whole variable afterwards."""
    if not hasattr(variable, "handle"):
        return getattr(v1, f"scatter_{kind}")(variable, ids, values)
    scatter = getattr(raw, f"ResourceScatter{kind.capitalize()}")
    done = scatter(resource=variable.handle, indices=ids, updates=values)
    if not then_read:
        return done
    with tf.control_dependencies([done]):
        return variable.value()


class _ByRows(train.Optimizer):  # type: ignore[misc]
    """An optimizer whose dense step is gradient descent, and whose sparse step a subclass composes."""

    def __init__(self) -> None:
        super().__init__(False, "Own")

    def _apply_dense(self, gradient: Any, variable: Any) -> Any:
        return variable.assign_sub(0.05 * gradient)

    _resource_apply_dense = _apply_dense

    def _apply_sparse(self, gradient: Any, variable: Any) -> Any:
        return self._step(gradient.values, variable, gradient.indices)

    def _resource_apply_sparse(self, gradient: Any, variable: Any, ids: Any) -> Any:
        return self._step(gradient, variable, ids)

    def _step(self, gradient: Any, variable: Any, ids: Any) -> Any:
        raise NotImplementedError


class _Trust(_ByRows):
    """No slots: rows are replaced, by a trust ratio of their norms, with a decay."""

    def _step(self, gradient: Any, variable: Any, ids: Any) -> Any:
        rows = tf.gather(variable, ids)
        change = gradient + 0.01 * rows
        ratio = tf.norm(rows, axis=1, keepdims=True) / (tf.norm(change, axis=1, keepdims=True) + 1e-3)
        return _scatter("update", variable, ids, rows - 0.1 * ratio * change)


class _Squares(_ByRows):
    """One slot, which is read after it was added to."""

    def _create_slots(self, variables: Any) -> None:
        for one in variables:
            start = v1.constant_initializer(0.1)
            self._get_or_make_slot_with_initializer(one, start, one.shape, tf.float32, "squares", self._name)

    def _step(self, gradient: Any, variable: Any, ids: Any) -> Any:
        squares = self.get_slot(variable, "squares")
        added = _scatter("add", squares, ids, tf.square(gradient))
        with tf.control_dependencies([added]):
            after = tf.gather(squares if hasattr(squares, "handle") else added, ids)
        return _scatter("sub", variable, ids, 0.1 * gradient / tf.sqrt(after))


class LazyAdam(train.AdamOptimizer):  # type: ignore[misc]
    """Adam whose moments stay where a row has no gradient."""

    def _apply_sparse(self, gradient: Any, variable: Any) -> Any:
        return self._step(gradient.values, variable, gradient.indices)

    def _resource_apply_sparse(self, gradient: Any, variable: Any, ids: Any) -> Any:
        return self._step(gradient, variable, ids)

    def _step(self, gradient: Any, variable: Any, ids: Any) -> Any:
        power1, power2 = self._get_beta_accumulators()
        rate = self._lr_t * tf.sqrt(1 - power2) / (1 - power1)
        m, v = self.get_slot(variable, "m"), self.get_slot(variable, "v")
        new_m = self._beta1_t * tf.gather(m, ids) + (1 - self._beta1_t) * gradient
        new_v = self._beta2_t * tf.gather(v, ids) + (1 - self._beta2_t) * tf.square(gradient)
        moments = [_scatter("update", m, ids, new_m, True), _scatter("update", v, ids, new_v, True)]
        return tf.group(self._move(variable, ids, rate * new_m / (tf.sqrt(new_v) + self._epsilon_t)), *moments)

    def _move(self, variable: Any, ids: Any, change: Any) -> Any:
        return _scatter("sub", variable, ids, change)


class _LazyAdamAdded(LazyAdam):
    """The same, as a sum, which returns the variable."""

    def _move(self, variable: Any, ids: Any, change: Any) -> Any:
        return _scatter("add", variable, ids, -change, True)


class _Decayed:
    """Takes a share off the rows that are looked up, before the step of the optimizer that a class derives from."""

    def _apply_sparse(self, gradient: Any, variable: Any) -> Any:
        with tf.control_dependencies([self._decay(variable, gradient.indices)]):
            return super()._apply_sparse(gradient, variable)  # type: ignore[misc]

    def _resource_apply_sparse(self, gradient: Any, variable: Any, ids: Any) -> Any:
        with tf.control_dependencies([self._decay(variable, ids)]):
            return super()._resource_apply_sparse(gradient, variable, ids)  # type: ignore[misc]

    def _decay(self, variable: Any, ids: Any) -> Any:
        share = train.exponential_decay(0.02, train.get_or_create_global_step(), 3, 0.8)
        return _scatter("add", variable, ids, -share * tf.gather(variable, ids), True)


class _AdamW(_Decayed, train.AdamOptimizer):  # type: ignore[misc]
    pass


class _LazyAdamW(_Decayed, _LazyAdamAdded):
    pass


OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "trust ratio of rows": _Trust,
    "squares of rows": _Squares,
    "lazy Adam": lambda: LazyAdam(0.02, epsilon=1e-4),
    "lazy Adam, added": lambda: _LazyAdamAdded(0.02, epsilon=1e-4),
    "lazy AdamW": lambda: _LazyAdamW(0.02, epsilon=1e-4),
    "AdamW": lambda: _AdamW(0.02, epsilon=1e-4),
}
