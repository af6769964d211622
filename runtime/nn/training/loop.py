"""Trains and evaluates a converted trainer: what PaddleRec's own tool does with `dygraph_model.py`."""

from __future__ import annotations

import contextlib
import importlib
import itertools
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn import metric
from runtime.nn.training.data import pipeline

v1 = tf.compat.v1


def settings(path: str) -> dict[str, Any]:
    """Return the settings of a YAML file by their dotted names, such as `runner.epochs`."""
    import yaml

    def flat(value: Any, prefix: str) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for key, item in value.items() if isinstance(value, Mapping) else ():
            found |= flat(item, f"{prefix}{key}.") if isinstance(item, Mapping) else {f"{prefix}{key}": item}
        return found

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
            ValueError: the configuration names no data or reader, or the data has no batch.
        """
        self.folder, self.data_folder = Path(folder), Path(data_folder or folder)
        self.config = {"config_abs_dir": str(self.data_folder.resolve()), **config}
        self.model = trainer.create_model(self.config)
        self.model.build(name)
        made = trainer.create_metrics() if hasattr(trainer, "create_metrics") else ([], [])
        self.metrics, self.metric_names = made if isinstance(made, tuple) else (made, [])
        self.train_data = v1.data.make_initializable_iterator(self.data("train"))
        self.model.train()
        returned = trainer.train_forward(self.model, self.metrics, self.train_data.get_next(), self.config)
        self.loss = returned[0]
        self.step = trainer.create_optimizer(self.model, self.config).minimize(self.loss)
        self.updates = metric.updates()
        self.values = [item.accumulate() for item in self.metrics]
        self.reset = v1.group(*[item.reset() for item in self.metrics])
        self.evaluation: tuple[Any, Any, dict[str, tf.Tensor]] | None = None
        if hasattr(trainer, "infer_forward") and self.config.get("runner.test_data_dir"):
            iterator = v1.data.make_initializable_iterator(self.data("infer"))
            self.model.eval()
            known = len(self.updates)
            with contextlib.suppress(NotImplementedError):  # it may not be converted
                returned = trainer.infer_forward(self.model, self.metrics, iterator.get_next(), self.config)
                updates, means = metric.updates()[known:], _means(returned)
                if updates or means:  # else nothing is measured
                    self.evaluation = iterator.initializer, updates, means

    def data(self, kind: str) -> tf.data.Dataset:
        """Return the batches of `runner.train_data_dir` or `runner.test_data_dir`."""
        where = self.config.get("runner.train_data_dir" if kind == "train" else "runner.test_data_dir")
        reader = self.config.get(f"runner.{kind}_reader_path")
        if not where or not reader:
            raise ValueError(f"the configuration has no data and reader for {kind}: give runner.{kind}_reader_path")
        if str(self.folder.resolve()) not in sys.path:
            sys.path.insert(0, str(self.folder.resolve()))
        files = sorted(str(path) for path in (self.data_folder / where).iterdir() if not path.name.startswith("."))
        dataset = importlib.import_module(reader).RecDataset(files, self.config)
        return pipeline(dataset, int(self.config.get(f"runner.{kind}_batch_size") or 1), drop_last=True)

    def run(self, session: Any, epochs: int | None = None, steps: int | None = None) -> list[dict[str, float]]:
        """Initialize all variables, train, and evaluate after each epoch; return the metrics of each epoch.

        Args:
            session: a v1 session of the graph.
            epochs: how often the data is gone through; None: as the configuration says.
            steps: how many batches are taken for training and for evaluation in an epoch; None: all.
        """
        session.run(v1.group(v1.global_variables_initializer(), v1.local_variables_initializer()))
        history = []
        for epoch in range(int(self.config.get("runner.epochs") or 1) if epochs is None else epochs):
            began, taken, loss = time.time(), 0, float("nan")
            session.run((self.train_data.initializer, self.reset))
            while steps is None or taken < steps:
                try:
                    loss, _, _ = session.run((self.loss, self.updates, self.step))
                except tf.errors.OutOfRangeError:
                    break
                taken += 1
            told = {"loss": float(np.mean(loss)), "steps": taken, "seconds": time.time() - began}
            told |= self._measured(session, "train")
            if self.evaluation is not None:
                told |= self._evaluate(session, steps) | self._measured(session, "test")
            history.append(told)
            print(f"epoch {epoch}: " + ", ".join(f"{key} {value:.6g}" for key, value in told.items()), flush=True)
        return history

    def _measured(self, session: Any, prefix: str) -> dict[str, float]:
        names = self.metric_names or [f"metric {i}" for i in range(len(self.values))]
        values = session.run(self.values)
        return {f"{prefix} {name}": float(np.mean(value)) for name, value in zip(names, values, strict=False)}

    def _evaluate(self, session: Any, steps: int | None) -> dict[str, float]:
        """Go through the data of evaluation; return the means of what `infer_forward` tells."""
        assert self.evaluation is not None
        initializer, updates, means = self.evaluation
        session.run((initializer, self.reset))
        found: list[dict[str, float]] = []
        for _ in itertools.count() if steps is None else range(steps):
            try:
                found.append(session.run((means, updates))[0])
            except tf.errors.OutOfRangeError:
                break
        return {f"test {name}": float(np.mean([one[name] for one in found])) for name in means if found}


def _means(returned: Any) -> dict[str, tf.Tensor]:
    """Return the means of the numbers in the dictionary that `infer_forward` returns after its metrics."""
    told = returned[1] if isinstance(returned, tuple) and len(returned) > 1 else None
    items = told.items() if isinstance(told, Mapping) else ()
    return {name: tf.reduce_mean(tf.cast(one, tf.float32)) for name, one in items if isinstance(one, tf.Tensor)}
