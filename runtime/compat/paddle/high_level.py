"""`paddle.Model`: a network with an optimizer, a loss and metrics that is fitted, evaluated and asked to predict."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.compat.paddle import exporting, files, recording
from runtime.compat.paddle.fit_callbacks import CALLBACKS, CallbackList, configured
from runtime.compat.paddle.loading import CONTENTS as _IO
from runtime.compat.paddle.tensor import Tensor, plain, wrapped
from runtime.nn import functional
from runtime.nn.layer import Layer

__all__ = ["CALLBACKS", "Model", "accuracy", "summary"]


def accuracy(
    input: Any, label: Any, k: int = 1, correct: Any = None, total: Any = None, name: str | None = None
) -> Tensor:
    """Return the share of rows whose label is among the k largest of `input`."""
    del correct, total, name
    best = tf.math.top_k(plain(input), k).indices
    hits = tf.reduce_any(tf.equal(tf.cast(best, tf.int64), tf.reshape(tf.cast(plain(label), tf.int64), [-1, 1])), 1)
    share: Tensor = wrapped(tf.reduce_mean(tf.cast(hits, tf.float32)))
    return share


def _list(value: Any) -> list[Any]:
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


class Model:
    """A network, with what it is trained by."""

    def __init__(self, network: Layer, inputs: Any = None, labels: Any = None) -> None:
        """Take the network; how many of a batch's items are its inputs is said by `inputs`, or by `labels`."""
        self.network = network
        self._inputs, self._labels = _list(inputs), _list(labels)
        self._optimizer: Any = None
        self._loss: Any = None
        self._metrics: list[Any] = []
        self.stop_training = False
        self.mode = "train"

    def prepare(self, optimizer: Any = None, loss: Any = None, metrics: Any = None, amp_configs: Any = None) -> None:
        """Take the optimizer, the loss and the metrics; `amp_configs` has no effect."""
        self._optimizer, self._loss, self._metrics = optimizer, loss, _list(metrics)

    def parameters(self, *positional: Any, **named: Any) -> list[Any]:
        """Return the weights of the network."""
        return self.network.parameters()

    def summary(self, input_size: Any = None, dtype: Any = None) -> dict[str, int]:
        """Print and return how many weights the network has."""
        return summary(self.network, input_size)

    # One batch.

    def train_batch(self, inputs: Any, labels: Any = None, update: bool = True, loss_scale: float = 1.0) -> Any:
        """Train on a batch; return the losses, with metrics a pair of both."""
        self.network.train()
        self.mode = "train"
        outputs, losses = self._forward(inputs, labels)
        total = losses[0] if len(losses) == 1 else sum(losses[1:], losses[0])
        total.backward()
        if update:
            self._optimizer.step()
            self._optimizer.clear_grad()
        return self._told(outputs, labels, losses)

    def eval_batch(self, inputs: Any, labels: Any = None) -> Any:
        """Return the losses of a batch, with metrics a pair of both."""
        self.network.eval()
        self.mode = "eval"
        with recording.stopped():
            outputs, losses = self._forward(inputs, labels)
            return self._told(outputs, labels, losses)

    def predict_batch(self, inputs: Any) -> list[Any]:
        """Return the outputs for a batch as arrays."""
        self.network.eval()
        self.mode = "test"
        with recording.stopped():
            return [output.numpy() for output in _list(self.network(*_tensors(inputs)))]

    def _forward(self, inputs: Any, labels: Any) -> tuple[list[Any], list[Any]]:
        outputs = _list(self.network(*_tensors(inputs)))
        losses = [] if self._loss is None else _list(self._loss(*outputs, *_tensors(labels)))
        return outputs, losses

    def _told(self, outputs: list[Any], labels: Any, losses: list[Any]) -> Any:
        numbers = [loss.numpy() for loss in losses]
        measured = []
        for metric in self._metrics:
            parts = metric.compute(*plain(outputs), *plain(_tensors(labels)))
            measured.append(metric.update(*[np.asarray(part) for part in _list(parts)]))
        return (numbers, measured) if self._metrics else numbers

    # Many batches.

    def fit(
        self,
        train_data: Any = None,
        eval_data: Any = None,
        batch_size: int = 1,
        epochs: int = 1,
        eval_freq: int = 1,
        log_freq: int = 10,
        save_dir: str | None = None,
        save_freq: int = 1,
        verbose: int = 2,
        drop_last: bool = False,
        shuffle: bool = True,
        num_workers: int = 0,
        callbacks: Any = None,
        accumulate_grad_batches: int = 1,
        num_iters: int | None = None,
    ) -> None:
        """Train for epochs, and evaluate after every `eval_freq`-th.

        Args:
            train_data: a data set or a loader.
            eval_data: the same for evaluation.
            batch_size: of batches that are made of a data set.
            epochs: how often the data is gone through.
            eval_freq: after how many epochs there is an evaluation.
            log_freq: after how many steps a line is printed.
            save_dir: where weights and the optimizer's state are saved.
            save_freq: after how many epochs they are.
            verbose: 0: nothing is printed.
            drop_last: whether a smaller last batch is left out.
            shuffle: whether samples come in random order.
            num_workers: has no effect.
            callbacks: of `paddle.callbacks`.
            accumulate_grad_batches: after how many batches weights are changed.
            num_iters: how many steps there are at most.
        """
        del num_workers
        batches = _loader(train_data, batch_size, shuffle, drop_last)
        tested = None if eval_data is None else _loader(eval_data, batch_size, False, False)
        steps = _length(batches)
        called = configured(self, callbacks, epochs, steps, log_freq, verbose, save_dir, save_freq, self._names())
        self.stop_training = False
        done = 0
        called("on_train_begin", {})
        for epoch in range(epochs):
            called("on_epoch_begin", epoch, {})
            left = None if num_iters is None else num_iters - done
            logs, trained = self._trained(batches, called, accumulate_grad_batches, left)
            done += trained
            called("on_epoch_end", epoch, logs)
            if tested is not None and epoch % eval_freq == 0:
                self._evaluated(tested, called, None)
            if self.stop_training:
                break
        called("on_train_end", logs)

    def evaluate(
        self,
        eval_data: Any,
        batch_size: int = 1,
        log_freq: int = 10,
        verbose: int = 2,
        num_workers: int = 0,
        callbacks: Any = None,
        num_iters: int | None = None,
    ) -> dict[str, Any]:
        """Return the loss of the last batch, and the metrics over all, by name."""
        batches = _loader(eval_data, batch_size, False, False)
        called = configured(self, callbacks, 1, _length(batches), log_freq, verbose, None, 1, self._names())
        return self._evaluated(batches, called, num_iters)

    def _trained(
        self, batches: Any, called: CallbackList, accumulated: int, left: int | None
    ) -> tuple[dict[str, Any], int]:
        """Train for an epoch, or `left` steps; return what the last step logged, and how many steps there were."""
        self._reset()
        steps, done = _length(batches), 0
        logs: dict[str, Any] = {}
        for step, batch in enumerate(batches):
            called("on_train_batch_begin", step, logs)
            inputs, labels = self._parts(batch)
            done = step + 1
            update = done % accumulated == 0 or done == steps
            logs = self._logs(self.train_batch(inputs, labels, update), step, inputs)
            called("on_train_batch_end", step, logs)
            if done == left:
                self.stop_training = True
                break
        return logs, done

    def _evaluated(self, batches: Any, called: CallbackList, num_iters: int | None) -> dict[str, Any]:
        self._reset()
        logs: dict[str, Any] = {}
        called("on_eval_begin", {"steps": _length(batches), "metrics": self._names()})
        for step, batch in enumerate(batches):
            if step == num_iters:
                break
            called("on_eval_batch_begin", step, logs)
            inputs, labels = self._parts(batch)
            logs = self._logs(self.eval_batch(inputs, labels), step, inputs)
            called("on_eval_batch_end", step, logs)
        called("on_eval_end", logs)
        return {name: value for name, value in logs.items() if name not in ("step", "batch_size")}

    def predict(
        self,
        test_data: Any,
        batch_size: int = 1,
        num_workers: int = 0,
        stack_outputs: bool = False,
        verbose: int = 1,
        callbacks: Any = None,
    ) -> list[Any]:
        """Return for each output the arrays of all batches, with `stack_outputs` one array of them all."""
        batches = _loader(test_data, batch_size, False, False)
        called = configured(self, callbacks, 1, _length(batches), 10, verbose, None, 1, self._names())
        outputs_of_batches: list[list[Any]] = []
        called("on_predict_begin", {})
        for step, batch in enumerate(batches):
            called("on_predict_batch_begin", step, {})
            inputs = self._parts(batch, labelled=False)[0]
            outputs_of_batches.append(self.predict_batch(inputs))
            called("on_predict_batch_end", step, {})
        called("on_predict_end", {})
        parts = [list(output) for output in zip(*outputs_of_batches, strict=True)]
        return [np.vstack(output) for output in parts] if stack_outputs else parts

    def _parts(self, batch: Any, labelled: bool = True) -> tuple[list[Any], list[Any]]:
        """Return the inputs and the labels of a batch."""
        items = _list(batch)
        if self._inputs:
            count = len(self._inputs)
        elif self._labels:
            count = len(items) - len(self._labels)
        else:
            count = max(1, len(items) - 1) if labelled or len(items) > 1 else len(items)
        return items[:count], items[count:]

    def _names(self) -> list[str]:
        return ["loss", *(name for metric in self._metrics for name in _list(metric.name()))]

    def _reset(self) -> None:
        for metric in self._metrics:
            metric.reset()

    def _logs(self, measured_batch: Any, step: int, inputs: list[Any]) -> dict[str, Any]:
        losses = measured_batch[0] if self._metrics else measured_batch
        logs: dict[str, Any] = {"loss": losses}
        for metric in self._metrics:
            logs |= dict(zip(_list(metric.name()), _list(metric.accumulate()), strict=True))
        size = inputs[0].shape[0] if inputs and hasattr(inputs[0], "shape") else 1
        return {**logs, "step": step, "batch_size": size}

    # Files.

    def save(self, path: str, training: bool = True) -> None:
        """Save the weights as `path.pdparams`, and the optimizer's state as `path.pdopt`.

        With `training=False`, write the network as `paddle.jit.save` does, by the specs that the model got as `inputs`.
        """
        if not training:
            exporting.save(self.network, path, self._inputs or None)
            return
        files.save(self.network.state_dict(), f"{path}.pdparams")
        if self._optimizer is not None:
            files.save(self._optimizer.state_dict(), f"{path}.pdopt")

    def load(self, path: str, skip_mismatch: bool = False, reset_optimizer: bool = False) -> None:
        """Load what `save` wrote."""
        del skip_mismatch
        self.network.set_state_dict(files.load(f"{path}.pdparams"))  # type: ignore[attr-defined]
        if self._optimizer is not None and not reset_optimizer and tf.io.gfile.exists(f"{path}.pdopt"):
            self._optimizer.set_state_dict(files.load(f"{path}.pdopt"))


def _tensors(items: Any) -> list[Any]:
    return [item if isinstance(item, Tensor) else Tensor(functional.to_tensor(plain(item))) for item in _list(items)]


def _loader(data: Any, batch_size: int, shuffle: bool, drop_last: bool) -> Any:
    if isinstance(data, _IO["IterableDataset"]):
        return _IO["DataLoader"](data, batch_size=batch_size, drop_last=drop_last)
    if isinstance(data, _IO["Dataset"]) or (hasattr(data, "__getitem__") and not isinstance(data, list)):
        # As in Paddle: each epoch has the order of its number, whatever NumPy's seed is.
        return _IO["DataLoader"](
            data, batch_sampler=_IO["DistributedBatchSampler"](data, batch_size, shuffle=shuffle, drop_last=drop_last)
        )
    return data


def _length(batches: Any) -> int | None:
    try:
        return len(batches)
    except (TypeError, ValueError):
        return None


def summary(net: Layer, input_size: Any = None, dtypes: Any = None, input: Any = None) -> dict[str, int]:
    """Print and return how many weights a network has, and how many of them are trained."""
    del input_size, dtypes, input
    sizes = [(int(np.prod(weight.declared_shape)), weight.trainable) for weight in net.parameters()]
    total = {
        "total_params": sum(size for size, _ in sizes),
        "trainable_params": sum(size for size, trained in sizes if trained),
    }
    print(f"Total params: {total['total_params']:,}\nTrainable params: {total['trainable_params']:,}", file=sys.stdout)
    return total
