"""Trains and evaluates a converted trainer: what PaddleRec's own tool does with `dygraph_model.py`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn import metric
from runtime.nn.optimizer.scheduler import LRScheduler
from runtime.nn.training.checkpoints import Checkpoints
from runtime.nn.training.data import next_batch, pipeline
from runtime.policy.eviction import EvictHook
from runtime.table.create import tables

v1 = tf.compat.v1
_SCHEDULES = ("", "step", "epoch")


def settings(path: str) -> dict[str, Any]:
    """Return the settings of a YAML file by their dotted names, such as `runner.epochs`."""
    import yaml

    def flat(value: Any, prefix: str) -> dict[str, Any]:
        flattened: dict[str, Any] = {}
        for key, item in value.items() if isinstance(value, Mapping) else ():
            flattened |= flat(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
        return flattened

    return flat(yaml.safe_load(Path(path).read_text(encoding="utf-8")), "")


class Training:
    """One model with its graphs for training and evaluation, on the data that the configuration names."""

    def __init__(
        self, trainer: Any, config: Mapping[str, Any], folder: str, name: str = "model", data_folder: str | None = None
    ) -> None:
        """Build the graphs; nothing is run.

        Args:
            trainer: an object with `create_model`, `create_optimizer`, `create_metrics`, `train_forward` and perhaps
                `infer_forward`.
            config: settings by dotted names; without `config_abs_dir`, that is `data_folder`.
            folder: the model's folder, in which the reader is found.
            name: the model's scope in the graph.
            data_folder: the folder to which the configuration's paths of data are relative; None: `folder`.

        Raises:
            ValueError: the configuration names no data or reader for training, a folder of data is not there, or it
                has no batch.
        """
        self.folder, self.data_folder = Path(folder), Path(data_folder or folder)
        self.config = {"config_abs_dir": str(self.data_folder.resolve()), **config}
        self.model = trainer.create_model(self.config)
        self.model.build(name)
        metrics = trainer.create_metrics() if hasattr(trainer, "create_metrics") else ([], [])
        self.metrics, names = metrics if isinstance(metrics, tuple) else (metrics, [])
        self.train_data = v1.data.make_initializable_iterator(self.data("train"))
        self.model.train()
        returned = trainer.train_forward(self.model, self.metrics, next_batch(self.train_data), self.config)
        self.loss = returned[0]
        self.optimizer = optimizer = trainer.create_optimizer(self.model, self.config)
        self.step, self.schedules = optimizer.minimize(self.loss), [one.step() for one in _schedules(optimizer)]
        self.updates = metric.updates()
        self.values = {
            name: item.accumulate() for name, item in zip(_named(self.metrics, names), self.metrics, strict=True)
        }
        self.tested = self.values
        self.resets = [item.reset() for item in self.metrics]
        self.evaluation: tuple[Any, Any, dict[str, tf.Tensor]] | None = None
        measured = all(self.config.get(f"runner.{key}") for key in ("test_data_dir", "infer_reader_path"))
        if hasattr(trainer, "infer_forward") and measured:
            iterator = v1.data.make_initializable_iterator(self.data("infer"))
            self.model.eval()
            known = len(self.updates)
            with contextlib.suppress(NotImplementedError):  # it may not be converted
                returned = trainer.infer_forward(self.model, self.metrics, next_batch(iterator), self.config)
                self.tested = self.values or self._measured_here(returned)
                updates, means = metric.updates()[known:], _means(returned)
                if updates or means:  # else nothing is measured
                    self.evaluation = iterator.initializer, updates, means
        self.evictions = Evictions()

    def _measured_here(self, returned: Any) -> dict[str, Any]:
        """Return the AUC where the trainer has no metrics, but its evaluation tells predictions and labels."""
        measured = returned[-1] if isinstance(returned, list | tuple) and returned else None
        if not isinstance(measured, Mapping) or not {"prediction", "label"} <= set(measured):
            return {}
        area = metric.Auc()
        ones = tf.reshape(tf.cast(measured["prediction"], tf.float32), [-1])
        area.update(tf.stack([1.0 - ones, ones], 1), measured["label"])
        self.resets.append(area.reset())
        return {"auc": area.accumulate()}

    def data(self, kind: str) -> tf.data.Dataset:
        """Return the batches of `runner.train_data_dir` or `runner.test_data_dir`."""
        where = self.config.get("runner.train_data_dir" if kind == "train" else "runner.test_data_dir")
        reader = self.config.get(f"runner.{kind}_reader_path")
        if not where or not reader:
            raise ValueError(f"the configuration has no data and reader for {kind}: give runner.{kind}_reader_path")
        if str(self.folder.resolve()) not in sys.path:
            sys.path.insert(0, str(self.folder.resolve()))
        place = self.data_folder / where
        if not place.is_dir():
            raise ValueError(
                f"there is no folder {place} with data for {kind}: give as `data_folder` the folder that holds it"
            )
        files = sorted(str(path) for path in place.iterdir() if not path.name.startswith("."))
        dataset = importlib.import_module(reader).RecDataset(files, self.config)
        size = self.config.get(f"runner.{kind}_batch_size")  # without one, the reader makes whole batches
        return pipeline(dataset, None if size is None else int(size), drop_last=True)

    def run(
        self,
        session: Any,
        epochs: int | None = None,
        steps: int | None = None,
        model_dir: str | None = None,
        schedule: str = "",
    ) -> list[dict[str, float]]:
        """Initialize all variables, train, and evaluate after each epoch; return the metrics of each epoch.

        Args:
            session: a v1 session of the graph.
            epochs: how often the data is gone through; None: as the configuration says.
            steps: how many batches are taken for training and for evaluation in an epoch; None: all.
            model_dir: a folder where `model.ckpt-NUMBER` is saved after each epoch. If it has one already, training
                goes on from the latest with the epochs that are left. None: nothing is saved.
            schedule: after what a scheduler of the learning rate goes on: "step" or "epoch". The default leaves it at
                its first rate, as PaddleRec's own tool does, and says so.

        Raises:
            ValueError: `schedule` is something else.
        """
        if schedule not in _SCHEDULES:
            raise ValueError(f'schedule={schedule!r}: give "step" or "epoch", or leave it out')
        if self.schedules and not schedule:
            print('the learning rate does not change; run(schedule="step") or "epoch" applies its schedule')
        session.run(v1.group(v1.global_variables_initializer(), v1.local_variables_initializer()))
        checkpoints = Checkpoints(model_dir)
        first = checkpoints.restore(session)
        self.evictions.start(session)
        history = []
        for epoch in range(first, int(self.config.get("runner.epochs") or 1) if epochs is None else epochs):
            began = time.time()
            losses = self._train(session, steps, self.schedules if schedule == "step" else [])
            metrics = {"loss": sum(losses) / len(losses) if losses else float("nan"), "steps": len(losses)}
            metrics |= {"seconds": time.time() - began, **_prefixed("train", session.run(self.values))}
            if self.evaluation is not None:
                metrics |= self._evaluate(session, steps) | _prefixed("test", session.run(self.tested))
            if schedule == "epoch":
                session.run(self.schedules)
            history.append(metrics)
            print(f"epoch {epoch}: " + ", ".join(f"{key} {value:.6g}" for key, value in metrics.items()), flush=True)
            checkpoints.save(session, epoch + 1)
        return history

    def _train(self, session: Any, steps: int | None, after: Sequence[tf.Operation]) -> list[float]:
        """Go through the data once; return the loss of each step."""
        losses: list[float] = []
        session.run((self.train_data.initializer, self.resets))
        while steps is None or len(losses) < steps:
            try:
                loss, _, _ = session.run((self.loss, self.updates, self.step))
            except tf.errors.OutOfRangeError:
                break
            if after:
                session.run(after)
            losses.append(float(np.mean(loss)))
            self.evictions.after_step(session)
        return losses

    def _evaluate(self, session: Any, steps: int | None) -> dict[str, float]:
        """Go through the data of evaluation; return the means of what `infer_forward` tells."""
        assert self.evaluation is not None
        initializer, updates, means = self.evaluation
        session.run((initializer, self.resets))
        measured: list[dict[str, float]] = []
        for _ in itertools.count() if steps is None else range(steps):
            try:
                measured.append(session.run((means, updates))[0])
            except tf.errors.OutOfRangeError:
                break
        return {f"test {name}": float(np.mean([one[name] for one in measured])) for name in means if measured}


def _schedules(optimizer: Any) -> list[Any]:
    """Return the scheduler of an optimizer, if it has one."""
    rate = getattr(optimizer, "_learning_rate", None)
    return [rate] if isinstance(rate, LRScheduler) else []


def _means(returned: Any) -> dict[str, tf.Tensor]:
    """Return the means of the numbers in the dictionary that `infer_forward` returns after its metrics."""
    measured = returned[1] if isinstance(returned, tuple) and len(returned) > 1 else None
    items = measured.items() if isinstance(measured, Mapping) else ()
    return {name: tf.reduce_mean(tf.cast(one, tf.float32)) for name, one in items if isinstance(one, tf.Tensor)}


def _named(metrics: Sequence[Any], names: Sequence[str]) -> list[str]:
    """Return a name for each metric: the trainer's, or its number."""
    return [*names[: len(metrics)], *(f"metric {i}" for i in range(len(names), len(metrics)))]


def _prefixed(prefix: str, values: Mapping[str, Any]) -> dict[str, float]:
    return {f"{prefix} {name}": float(np.mean(value)) for name, value in values.items()}


class Evictions:
    """Evicts what is due, in a plain session, from the tables of the graph whose lookups have an age."""

    def __init__(self) -> None:
        """Add the ops; rows are looked for as often as the smallest age says."""
        rules = [table.admission for table in tables() if table.admission is not None]
        ages = [rule.eviction_threshold for rule in rules if rule.eviction_threshold is not None]
        self._hook = EvictHook(bool(ages), max(min(ages, default=1), 1))
        self._hook.begin()

    def start(self, session: Any) -> None:
        """Start the clock."""
        self._hook.after_create_session(session, None)

    def after_step(self, session: Any) -> None:
        """Evict if it is time."""
        self._hook.after_run(SimpleNamespace(session=session), None)
