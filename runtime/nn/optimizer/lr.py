"""Schedulers of the learning rate, with Paddle's names, arguments and formulas.

A scheduler has a variable, `last_epoch`, and its rate is a function of it. `step()` returns the op that counts on; it
is run where the Paddle program calls `scheduler.step()`, after each batch or each epoch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from runtime.nn.optimizer.scheduler import LRScheduler

__all__ = [
    "CosineAnnealingDecay",
    "ExponentialDecay",
    "InverseTimeDecay",
    "LRScheduler",
    "LambdaDecay",
    "LinearWarmup",
    "MultiStepDecay",
    "NaturalExpDecay",
    "NoamDecay",
    "PiecewiseDecay",
    "PolynomialDecay",
    "StepDecay",
]


class NoamDecay(LRScheduler):
    """`base / sqrt(d_model) * min(epoch ** -0.5, epoch * warmup_steps ** -1.5)`."""

    def __init__(
        self, d_model: int, warmup_steps: int, learning_rate: float = 1.0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the size of the model, the steps in which the rate grows, and a factor."""
        _above("NoamDecay", d_model=d_model, warmup_steps=warmup_steps)
        super().__init__(learning_rate, last_epoch, verbose)
        self.d_model, self.warmup_steps = d_model, warmup_steps

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        falls = tf.maximum(epoch, 1.0) ** -0.5
        return self.base_lr * self.d_model**-0.5 * tf.minimum(falls, self.warmup_steps**-1.5 * epoch)


class PiecewiseDecay(LRScheduler):
    """`values[i]` before `boundaries[i]`, the last value after all of them."""

    def __init__(
        self, boundaries: Sequence[int], values: Sequence[float], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take counts and one value more.

        Raises:
            ValueError: there are no boundaries, or not more values than boundaries.
        """
        if len(boundaries) == 0 or len(values) <= len(boundaries):
            raise ValueError(
                f"PiecewiseDecay got {len(boundaries)} boundaries and {len(values)} values: give one value more than "
                "boundaries"
            )
        super().__init__(0.1, last_epoch, verbose)
        self.boundaries, self.values = list(boundaries), [float(value) for value in values]

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        return _first(epoch, self.boundaries, [*self.values[: len(self.boundaries)], self.values[-1]])


class NaturalExpDecay(LRScheduler):
    """`base * exp(-gamma * epoch)`."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate and how fast it falls."""
        _above("NaturalExpDecay", gamma=gamma)
        super().__init__(learning_rate, last_epoch, verbose)
        self.gamma = gamma

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        return self.base_lr * tf.exp(-self.gamma * epoch)


class InverseTimeDecay(LRScheduler):
    """`base / (1 + gamma * epoch)`."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate and how fast it falls."""
        super().__init__(learning_rate, last_epoch, verbose)
        self.gamma = gamma

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        return self.base_lr / (1 + self.gamma * epoch)


class PolynomialDecay(LRScheduler):
    """`(base - end_lr) * (1 - epoch / decay_steps) ** power + end_lr`, then `end_lr`."""

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
        """Take both rates, the steps between them, and the power; with `cycle` the steps are a multiple that fits."""
        _above("PolynomialDecay", decay_steps=decay_steps, power=power)
        super().__init__(learning_rate, last_epoch, verbose)
        self.decay_steps, self.end_lr, self.power, self.cycle = decay_steps, end_lr, power, cycle

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        steps = tf.constant(float(self.decay_steps), tf.float64)
        if self.cycle:
            steps *= tf.maximum(tf.math.ceil(epoch / steps), 1.0)
        else:
            epoch = tf.minimum(epoch, steps)
        return (self.base_lr - self.end_lr) * (1 - epoch / steps) ** self.power + self.end_lr


class LinearWarmup(LRScheduler):
    """From `start_lr` to `end_lr` in `warmup_steps`, then `learning_rate`, a number or another scheduler."""

    def __init__(
        self,
        learning_rate: Any,
        warmup_steps: int,
        start_lr: float,
        end_lr: float,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        """Take what follows, the steps, and the rates between which they lead.

        Raises:
            ValueError: `end_lr` is not above `start_lr`, or `learning_rate` is neither a number nor a scheduler.
        """
        _above("LinearWarmup", warmup_steps=warmup_steps)
        if not end_lr > start_lr:
            raise ValueError(f"LinearWarmup got start_lr={start_lr} and end_lr={end_lr}: give an end above the start")
        if not isinstance(learning_rate, int | float | LRScheduler):
            raise ValueError(f"LinearWarmup got learning_rate={learning_rate!r}: give a number or a scheduler")
        super().__init__(start_lr, last_epoch, verbose)
        self.learning_rate, self.warmup_steps = learning_rate, warmup_steps
        self.start_lr, self.end_lr = start_lr, end_lr

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        after = self.learning_rate
        later = (
            after.at(tf.maximum(epoch - self.warmup_steps, 0.0))
            if isinstance(after, LRScheduler)
            else tf.constant(float(after), tf.float64)
        )
        grows = (self.end_lr - self.start_lr) * epoch / float(self.warmup_steps) + self.start_lr
        return tf.where(epoch < self.warmup_steps, grows, later)


class ExponentialDecay(LRScheduler):
    """`base * gamma ** epoch`."""

    def __init__(self, learning_rate: float, gamma: float, last_epoch: int = -1, verbose: bool = False) -> None:
        """Take the first rate and the factor, between 0 and 1."""
        if not 0.0 < gamma < 1.0:
            raise ValueError(f"ExponentialDecay got gamma={gamma!r}: give a number between 0 and 1")
        super().__init__(learning_rate, last_epoch, verbose)
        self.gamma = gamma

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        return self.base_lr * tf.constant(self.gamma, tf.float64) ** epoch


class MultiStepDecay(LRScheduler):
    """`base * gamma ** i`, with i the number of milestones that were reached."""

    def __init__(
        self,
        learning_rate: float,
        milestones: Sequence[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        """Take the first rate, rising counts, and the factor, below 1.

        Raises:
            ValueError: the counts do not rise, or the factor is not below 1.
        """
        if list(milestones) != sorted(set(milestones)):
            raise ValueError(f"MultiStepDecay got milestones={milestones!r}: give a list of rising counts")
        if gamma >= 1.0:
            raise ValueError(f"MultiStepDecay got gamma={gamma!r}: give a number below 1")
        super().__init__(learning_rate, last_epoch, verbose)
        self.milestones, self.gamma = list(milestones), gamma

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        rates = [self.base_lr * self.gamma**i for i in range(len(self.milestones) + 1)]
        return _first(epoch, self.milestones, rates)


class StepDecay(LRScheduler):
    """`base * gamma ** (epoch // step_size)`."""

    def __init__(
        self, learning_rate: float, step_size: int, gamma: float = 0.1, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first rate, the counts between changes, and the factor, below 1."""
        _above("StepDecay", step_size=step_size)
        if gamma >= 1.0:
            raise ValueError(f"StepDecay got gamma={gamma!r}: give a number below 1")
        super().__init__(learning_rate, last_epoch, verbose)
        self.step_size, self.gamma = step_size, gamma

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        return self.base_lr * tf.constant(self.gamma, tf.float64) ** (epoch // float(self.step_size))


class LambdaDecay(LRScheduler):
    """`base * lr_lambda(epoch)`."""

    def __init__(
        self, learning_rate: float, lr_lambda: Callable[[Any], Any], last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first rate and a function of the count: in a graph a float64 tensor, in eager code an int.

        Raises:
            ValueError: it is not a function.
        """
        if not callable(lr_lambda):
            raise ValueError(f"LambdaDecay got lr_lambda={lr_lambda!r}: give a function of the count")
        super().__init__(learning_rate, last_epoch, verbose)
        self.lr_lambda = lr_lambda

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count.

        Raises:
            ValueError: the function does more than arithmetic.
        """
        try:
            count = int(epoch) if tf.executing_eagerly() else epoch
            return self.base_lr * tf.cast(self.lr_lambda(count), tf.float64)
        except TypeError as error:
            raise ValueError(
                f"the function of LambdaDecay fails for a tensor, which it gets here ({error}): write it with tf.* "
                "functions, such as tf.where in place of a condition"
            ) from error


class CosineAnnealingDecay(LRScheduler):
    """`eta_min + (base - eta_min) * (1 + cos(pi * epoch / T_max)) / 2`."""

    def __init__(
        self, learning_rate: float, T_max: int, eta_min: float = 0, last_epoch: int = -1, verbose: bool = False
    ) -> None:
        """Take the first rate, half a period, and the lowest rate.

        Raises:
            ValueError: a count is given. Paddle's formula goes on from the rate before, so it begins at
                `learning_rate` there and is another curve up to the next lowest rate.
        """
        _above("CosineAnnealingDecay", T_max=T_max)
        if last_epoch > 0:
            raise ValueError(
                f"CosineAnnealingDecay got last_epoch={last_epoch}: leave it out, and restore a checkpoint or run "
                f"step({last_epoch + 1}) to go on from there"
            )
        super().__init__(learning_rate, last_epoch, verbose)
        self.T_max, self.eta_min = T_max, float(eta_min)

    def at(self, epoch: tf.Tensor) -> tf.Tensor:
        """Return the rate at a count."""
        wave = 1 + tf.cos(math.pi * epoch / float(self.T_max))
        return self.eta_min + (self.base_lr - self.eta_min) * wave / 2


def _first(epoch: tf.Tensor, limits: Sequence[float], rates: Sequence[float]) -> tf.Tensor:
    """Return the rate of the first limit above the count, or the last rate."""
    above = tf.concat([epoch < tf.constant(limits, tf.float64), [True]], 0)
    return tf.constant(rates, tf.float64)[tf.argmax(tf.cast(above, tf.int32))]


def _above(kind: str, **numbers: float) -> None:
    for name, number in numbers.items():
        if not number > 0:
            raise ValueError(f"{kind} got {name}={number!r}: give a number above 0")
