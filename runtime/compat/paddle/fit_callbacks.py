"""`paddle.callbacks`: what `paddle.Model.fit` calls around epochs and batches."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np

from runtime.nn.optimizer.scheduler import LRScheduler as Schedule


class Callback:
    """A subclass has the methods that it wants to be called: `on_train_begin`, `on_epoch_end`, …"""

    model: Any = None
    params: dict[str, Any]

    def set_params(self, params: dict[str, Any]) -> None:
        """Take epochs, steps, verbosity and the names of metrics."""
        self.params = params

    def set_model(self, model: Any) -> None:
        """Take the model."""
        self.model = model

    def on_train_begin(self, logs: Any = None) -> None:
        """Before training."""

    def on_train_end(self, logs: Any = None) -> None:
        """After training."""

    def on_eval_begin(self, logs: Any = None) -> None:
        """Before an evaluation."""

    def on_eval_end(self, logs: Any = None) -> None:
        """After an evaluation."""

    def on_predict_begin(self, logs: Any = None) -> None:
        """Before predictions."""

    def on_predict_end(self, logs: Any = None) -> None:
        """After predictions."""

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Before an epoch."""

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """After an epoch."""

    def on_train_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a step."""

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """After a step."""

    def on_eval_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a batch of an evaluation."""

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """After a batch of an evaluation."""

    def on_predict_batch_begin(self, step: int, logs: Any = None) -> None:
        """Before a batch of predictions."""

    def on_predict_batch_end(self, step: int, logs: Any = None) -> None:
        """After a batch of predictions."""


class CallbackList:
    """Several callbacks, called by the name of a method."""

    def __init__(self, callbacks: list[Any]) -> None:
        """Take the callbacks."""
        self.callbacks = callbacks

    def __call__(self, name: str, *chosen: Any) -> None:
        """Call a method of each."""
        for callback in self.callbacks:
            getattr(callback, name)(*chosen)


def _text(logs: dict[str, Any]) -> str:
    def number(value: Any) -> str:
        flat = np.asarray(value).reshape(-1)
        return f"{float(flat[0]):.4f}" if flat.size == 1 else np.array2string(flat, precision=4)

    return " - ".join(f"{name}: {number(value)}" for name, value in logs.items() if name not in ("step", "batch_size"))


class ProgBarLogger(Callback):
    """Prints a line every `log_freq` steps, and after each epoch and evaluation."""

    def __init__(self, log_freq: int = 1, verbose: int = 2) -> None:
        """Take how often, and whether at all."""
        self.log_freq, self.verbose = log_freq, verbose

    def _step(self, step: int, logs: Any) -> None:
        if self.verbose and (step + 1) % self.log_freq == 0:
            print(f"step {step + 1}/{self.params.get('steps') or '?'} - {_text(logs or {})}", flush=True)

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Print the epoch."""
        if self.verbose:
            print(f"Epoch {epoch + 1}/{self.params['epochs']}", flush=True)

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Print the losses."""
        self._step(step, logs)

    def on_eval_batch_end(self, step: int, logs: Any = None) -> None:
        """Print the losses."""
        self._step(step, logs)

    def on_eval_end(self, logs: Any = None) -> None:
        """Print what was measured."""
        if self.verbose:
            print(f"Eval - {_text(logs or {})}", flush=True)


class ModelCheckpoint(Callback):
    """Saves after every `save_freq`-th epoch, and at the end as `final`."""

    def __init__(self, save_freq: int = 1, save_dir: str | None = None) -> None:
        """Take how often, and where."""
        self.save_freq, self.save_dir = save_freq, save_dir

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Save."""
        if self.save_dir and epoch % self.save_freq == 0:
            self.model.save(str(Path(self.save_dir) / str(epoch)))

    def on_train_end(self, logs: Any = None) -> None:
        """Save."""
        if self.save_dir:
            self.model.save(str(Path(self.save_dir) / "final"))


class LRScheduler(Callback):
    """Lets the optimizer's scheduler go on after each step, or after each epoch."""

    def __init__(self, by_step: bool = True, by_epoch: bool = False) -> None:
        """Take after what."""
        if by_step and by_epoch:
            raise ValueError("LRScheduler got by_step and by_epoch: give one")
        self.by_step, self.by_epoch = by_step, by_epoch

    def _go_on(self) -> None:
        rate = getattr(self.model._optimizer, "_learning_rate", None)
        if isinstance(rate, Schedule):
            rate.step()

    def on_epoch_end(self, epoch: int, logs: Any = None) -> None:
        """Go on."""
        if self.by_epoch:
            self._go_on()

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Go on."""
        if self.by_step:
            self._go_on()


class EarlyStopping(Callback):
    """Ends training when a measured value has not become better for `patience` evaluations."""

    def __init__(
        self,
        monitor: str = "loss",
        mode: str = "auto",
        patience: int = 0,
        verbose: int = 1,
        min_delta: float = 0,
        baseline: float | None = None,
        save_best_model: bool = True,
    ) -> None:
        """Take what is measured, and how patient it is."""
        self.monitor, self.patience, self.verbose = monitor, patience, verbose
        self.min_delta, self.baseline, self.save_best_model = abs(min_delta), baseline, save_best_model
        self._larger = mode == "max" or (mode == "auto" and "acc" in monitor)
        self.save_dir: str | None = None
        self.stopped_epoch = self.wait_epoch = 0
        self.best_value = -np.inf if self._larger else np.inf

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin anew."""
        self.wait_epoch = 0
        worst = -np.inf if self._larger else np.inf
        self.best_value = worst if self.baseline is None else self.baseline

    def on_eval_end(self, logs: Any = None) -> None:
        """Compare, and end training."""
        if not logs or self.monitor not in logs:
            return
        value = float(np.asarray(logs[self.monitor]).reshape(-1)[0])
        better = value - self.min_delta > self.best_value if self._larger else value + self.min_delta < self.best_value
        if better:
            self.best_value, self.wait_epoch = value, 0
            if self.save_best_model and self.save_dir:
                self.model.save(str(Path(self.save_dir) / "best_model"))
        else:
            self.wait_epoch += 1
        if self.wait_epoch >= self.patience:
            self.model.stop_training = True
            if self.verbose:
                print(f"Early stopping: {self.monitor} has not become better than {self.best_value:.5f}")
        self.stopped_epoch += 1


class ReduceLROnPlateau(Callback):
    """Makes the learning rate smaller when a measured value has not become better for `patience` evaluations."""

    def __init__(
        self,
        monitor: str = "loss",
        factor: float = 0.1,
        patience: int = 10,
        verbose: int = 1,
        mode: str = "auto",
        min_delta: float = 1e-4,
        cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:
        """Take what is measured, and by how much the rate changes; the optimizer must have a number for a rate."""
        if factor >= 1.0:
            raise ValueError(f"ReduceLROnPlateau got factor={factor}: give one below 1")
        self.monitor, self.factor, self.patience, self.verbose = monitor, factor, patience, verbose
        self.min_delta, self.cooldown, self.min_lr = min_delta, cooldown, min_lr
        self._larger = mode == "max" or (mode != "min" and "acc" in monitor)
        self.epoch = 0
        self.on_train_begin()

    def on_train_begin(self, logs: Any = None) -> None:
        """Begin anew."""
        self.best = -np.inf if self._larger else np.inf
        self.cooldown_counter = self.wait = 0

    def on_eval_end(self, logs: Any = None) -> None:
        """Compare, and change the rate."""
        optimizer = self.model._optimizer
        if self.monitor not in (logs or {}) or not isinstance(optimizer._learning_rate, float):
            return
        value = float(np.asarray(logs[self.monitor]).reshape(-1)[0])
        if self.cooldown_counter > 0:
            self.cooldown_counter -= 1
            self.wait = 0
        if value > self.best + self.min_delta if self._larger else value < self.best - self.min_delta:
            self.best, self.wait = value, 0
        elif self.cooldown_counter <= 0:
            self.wait += 1
            rate = optimizer.get_lr()
            if self.wait >= self.patience and rate > np.float32(self.min_lr):
                optimizer.set_lr(max(rate * self.factor, self.min_lr))
                if self.verbose > 0:
                    print(
                        f"\nEpoch {self.epoch + 1}: ReduceLROnPlateau: the learning rate is {optimizer.get_lr()} now."
                    )
                self.cooldown_counter, self.wait = self.cooldown, 0
        self.epoch += 1


class VisualDL(Callback):
    """Writes losses and metrics where VisualDL is installed, else nothing."""

    def __init__(self, log_dir: str) -> None:
        """Take where."""
        self.log_dir = log_dir
        self._writer: Any = None
        self._steps = 0

    def on_train_batch_end(self, step: int, logs: Any = None) -> None:
        """Write the numbers."""
        if self._writer is None:
            if importlib.util.find_spec("visualdl") is None:
                return
            self._writer = importlib.import_module("visualdl").LogWriter(self.log_dir)
        self._steps += 1
        for name, value in (logs or {}).items():
            flat = np.asarray(value).reshape(-1)
            if name not in ("step", "batch_size"):
                self._writer.add_scalar(tag=f"train/{name}", step=self._steps, value=float(flat[0]))


def configured(
    model: Any,
    callbacks: Any,
    epochs: int,
    steps: int | None,
    log_freq: int,
    verbose: int,
    save_dir: str | None,
    save_freq: int,
    metrics: list[str],
) -> CallbackList:
    """Return the callbacks of a run: those chosen, and those that Paddle adds."""
    chosen = [] if callbacks is None else list(callbacks) if isinstance(callbacks, list | tuple) else [callbacks]
    if not any(isinstance(callback, ProgBarLogger) for callback in chosen) and verbose:
        chosen = [ProgBarLogger(log_freq, verbose), *chosen]
    if not any(isinstance(callback, LRScheduler) for callback in chosen):
        chosen = [*chosen, LRScheduler()]
    if not any(isinstance(callback, ModelCheckpoint) for callback in chosen):
        chosen = [*chosen, ModelCheckpoint(save_freq, save_dir)]
    params = {"epochs": epochs, "steps": steps, "verbose": verbose, "metrics": metrics, "save_dir": save_dir}
    for callback in chosen:
        callback.set_model(model)
        callback.set_params(params)
        if isinstance(callback, EarlyStopping):
            callback.save_dir = save_dir
    return CallbackList(chosen)


#: The names of `paddle.callbacks`.
CALLBACKS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Callback, ProgBarLogger, ModelCheckpoint, LRScheduler, EarlyStopping),
        *(ReduceLROnPlateau, VisualDL),
    )
}
