"""Schedules of the learning rate: its value is a tensor that follows `step()`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

v1 = tf.compat.v1


class LRScheduler:
    """Base class: a subclass says the rate of an epoch. `step()` returns the op that begins the next epoch."""

    def __init__(self, learning_rate: float, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate; `last_epoch` is the epoch before the first."""
        del verbose
        self.base_lr, self._first = float(learning_rate), last_epoch + 1
        self._epoch: tf.Variable | None = None

    @property
    def epoch(self) -> tf.Variable:
        """The number of the epoch, an int64 variable of the graph."""
        if self._epoch is None:
            with tf.init_scope():
                self._epoch = v1.Variable(self._first, dtype=tf.int64, trainable=False, name="last_epoch")
        return self._epoch

    def value(self) -> tf.Tensor:
        """Return the rate of the epoch, float32."""
        return tf.cast(self._rate(tf.cast(self.epoch.read_value(), tf.float32)), tf.float32)

    def step(self, epoch: int | None = None) -> tf.Operation:
        """Return the op after which the next epoch counts, or the given one."""
        return self.epoch.assign_add(1).op if epoch is None else self.epoch.assign(epoch).op

    def get_lr(self) -> tf.Tensor:
        """Return `value()`."""
        return self.value()

    def _rate(self, epoch: tf.Tensor) -> Any:
        raise NotImplementedError


class PiecewiseDecay(LRScheduler):
    """`values[i]` from `boundaries[i - 1]` on."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first epochs of all rates but the first, and the rates."""
        super().__init__(values[0], last_epoch, verbose)
        self._boundaries, self._values = list(boundaries), [float(value) for value in values]

    def _rate(self, epoch: tf.Tensor) -> Any:
        passed = tf.reduce_sum(tf.cast(epoch >= tf.constant(self._boundaries, tf.float32), tf.int32))
        return tf.gather(tf.constant(self._values, tf.float32), passed)


class ExponentialDecay(LRScheduler):
    """`rate * gamma ** epoch`."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate and the factor of an epoch."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._gamma = float(gamma)

    def _rate(self, epoch: tf.Tensor) -> Any:
        return self.base_lr * tf.pow(self._gamma, epoch)


class NaturalExpDecay(ExponentialDecay):
    """`rate * exp(-gamma * epoch)`."""

    def _rate(self, epoch: tf.Tensor) -> Any:
        return self.base_lr * tf.exp(-self._gamma * epoch)


class InverseTimeDecay(ExponentialDecay):
    """`rate / (1 + gamma * epoch)`."""

    def _rate(self, epoch: tf.Tensor) -> Any:
        return self.base_lr / (1 + self._gamma * epoch)


class StepDecay(LRScheduler):
    """`rate * gamma ** (epoch // step_size)`."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first rate, the epochs between two changes, and the factor of a change."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._size, self._gamma = step_size, float(gamma)

    def _rate(self, epoch: tf.Tensor) -> Any:
        return self.base_lr * tf.pow(self._gamma, tf.floor(epoch / self._size))


class MultiStepDecay(LRScheduler):
    """`rate * gamma ** n` after n of the milestones."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        """Take the first rate, the epochs of the changes, and the factor of a change."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._milestones, self._gamma = list(milestones), float(gamma)

    def _rate(self, epoch: tf.Tensor) -> Any:
        passed = tf.reduce_sum(tf.cast(epoch >= tf.constant(self._milestones, tf.float32), tf.float32))
        return self.base_lr * tf.pow(self._gamma, passed)


class PolynomialDecay(LRScheduler):
    """`(rate - end) * (1 - epoch / decay_steps) ** power + end`."""

    def __init__(
        self,
        learning_rate: float,
        decay_steps: int,
        end_lr: float = 0.0001,
        power: float = 1.0,
        cycle: bool = False,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        """Take the first and the last rate, and the epochs between them, which `cycle` extends."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._steps, self._end, self._power, self._cycle = decay_steps, float(end_lr), float(power), cycle

    def _rate(self, epoch: tf.Tensor) -> Any:
        steps: Any = float(self._steps)
        if self._cycle:
            steps *= tf.maximum(tf.math.ceil(epoch / steps), 1.0)
        else:
            epoch = tf.minimum(epoch, steps)
        return (self.base_lr - self._end) * tf.pow(1 - epoch / steps, self._power) + self._end


class NoamDecay(LRScheduler):
    """`rate * d_model ** -0.5 * min(epoch ** -0.5, epoch * warmup_steps ** -1.5)`."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the width of the model, and the epochs in which the rate grows."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._width, self._warmup = d_model, warmup_steps

    def _rate(self, epoch: tf.Tensor) -> Any:
        falling = tf.where(epoch > 0, tf.pow(tf.maximum(epoch, 1.0), -0.5), 1.0)
        return self.base_lr * self._width**-0.5 * tf.minimum(falling, epoch * self._warmup**-1.5)


class CosineAnnealingDecay(LRScheduler):
    """`eta_min + (rate - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first and the smallest rate, and the epochs between them."""
        super().__init__(learning_rate, last_epoch, verbose)
        self._most, self._least = T_max, float(eta_min)

    def _rate(self, epoch: tf.Tensor) -> Any:
        return self._least + (self.base_lr - self._least) * (1 + tf.cos(math.pi * epoch / self._most)) / 2
