"""The base class of the schedulers of the learning rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class LRScheduler:
    """Base class: a rate that depends on a count, which begins with `last_epoch + 1`.

    In a graph the count is a variable and the rate a tensor, in eager code both are numbers, as in Paddle. There a
    subclass may define `get_lr` alone.
    """

    def __init__(self, learning_rate: float = 0.1, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate and the count before the first step; `verbose` has no effect.

        Raises:
            ValueError: the rate is not a number from 0.
        """
        del verbose
        if not isinstance(learning_rate, int | float) or learning_rate < 0:
            raise ValueError(f"{type(self).__name__} got learning_rate={learning_rate!r}: give a number from 0")
        self.base_lr = float(learning_rate)
        self._start = int(last_epoch) + 1
        self._epochs: WeakKeyDictionary[tf.Graph, tf.Variable] = WeakKeyDictionary()
        self._count = self._start

    @property
    def last_epoch(self) -> Any:
        """The count: of the current graph an int64 variable, in eager code an int, which may be set."""
        if tf.executing_eagerly():
            return self._count
        graph = v1.get_default_graph()
        if graph not in self._epochs:
            with tf.init_scope(), v1.name_scope(None):
                self._epochs[graph] = v1.Variable(
                    np.int64(self._start), trainable=False, name=f"{type(self).__name__}/last_epoch", use_resource=True
                )
        return self._epochs[graph]

    @last_epoch.setter
    def last_epoch(self, count: int) -> None:
        self._count = int(count)

    @property
    def last_lr(self) -> Any:
        """The rate."""
        return self.value()

    def step(self, epoch: int | None = None) -> Any:
        """Return the op that adds 1 to the count, or sets it; in eager code, do it."""
        if tf.executing_eagerly():
            self._count = self._count + 1 if epoch is None else int(epoch)
            return None
        count = self.last_epoch
        return tf.group(v1.assign_add(count, np.int64(1)) if epoch is None else v1.assign(count, np.int64(epoch)))

    def value(self) -> Any:
        """Return the rate: a float32 scalar, in eager code a number."""
        return float(self.get_lr()) if tf.executing_eagerly() else self._now()

    def _now(self) -> tf.Tensor:
        if tf.executing_eagerly():
            return self.at(tf.constant(float(self._count), tf.float64))
        return tf.cast(self.at(tf.cast(self.last_epoch.read_value(), tf.float64)), tf.float32)

    def __call__(self) -> Any:
        """Return the rate."""
        return self.value()

    def get_lr(self) -> Any:
        """Return the rate."""
        return float(self._now()) if tf.executing_eagerly() else self.value()

    def state_dict(self) -> dict[str, Any]:
        """Return the count and the rate of eager code."""
        return {"last_epoch": self.last_epoch, "last_lr": self.last_lr}

    def set_state_dict(self, state_dict: Mapping[str, Any]) -> None:
        """Take the count of eager code from what `state_dict` returned."""
        self.last_epoch = int(state_dict["last_epoch"])

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count, both float64 scalars."""
        raise NotImplementedError
