"""The base class of the schedulers of the learning rate."""

from __future__ import annotations

from weakref import WeakKeyDictionary

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1


class LRScheduler:
    """Base class: a rate that depends on a count, which begins with `last_epoch + 1`."""

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

    @property
    def last_epoch(self) -> tf.Variable:
        """The count of the current graph, an int64 variable."""
        graph = v1.get_default_graph()
        if graph not in self._epochs:
            with tf.init_scope(), v1.name_scope(None):
                self._epochs[graph] = v1.Variable(
                    np.int64(self._start), trainable=False, name=f"{type(self).__name__}/last_epoch", use_resource=True
                )
        return self._epochs[graph]

    def step(self, epoch: int | None = None) -> tf.Operation:
        """Return the op that adds 1 to the count, or sets it."""
        count = self.last_epoch
        return (v1.assign_add(count, np.int64(1)) if epoch is None else v1.assign(count, np.int64(epoch))).op

    def value(self) -> tf.Tensor:
        """Return the rate, a float32 scalar."""
        return tf.cast(self.at(tf.cast(self.last_epoch.read_value(), tf.float64)), tf.float32)

    def __call__(self) -> tf.Tensor:
        """Return the rate, a float32 scalar."""
        return self.value()

    def get_lr(self) -> tf.Tensor:
        """Return the rate, a float32 scalar."""
        return self.value()

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count, both float64 scalars."""
        raise NotImplementedError
