"""`StaticTraining`: trains a converted static model on the data that its configuration names."""

from __future__ import annotations

import importlib
import inspect
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from runtime.nn import metric
from runtime.nn.static import readers
from runtime.nn.static.program import Program
from runtime.nn.training.checkpoints import Checkpoints

v1 = tf.compat.v1


class StaticTraining:
    """One static model with its graphs for training and evaluation."""

    def __init__(
        self, trainer: Any, config: Mapping[str, Any], folder: str, name: str = "model", data_folder: str | None = None
    ) -> None:
        """Build the graphs; nothing is run.

        Args:
            trainer: an object with `create_feeds`, `net`, `create_optimizer` and perhaps `infer_net`.
            config: settings by dotted names.
            folder: the model's folder, in which the reader is found.
            name: the model's scope in the graph.
            data_folder: the folder to which the configuration's paths of data are relative; None: `folder`.

        Raises:
            ValueError: the configuration names no data or reader, a folder of data is not there, or the trainer makes
                no optimizer.
        """
        self.config, self.folder, self.data_folder = dict(config), Path(folder), Path(data_folder or folder)
        self.feeds = list(trainer.create_feeds())
        self.train_data = v1.data.make_initializable_iterator(self.data("train"))
        steps = v1.get_collection_ref(v1.GraphKeys.TRAIN_OP)
        known = len(steps)
        with Program(name) as self.program:
            self.fetches = trainer.net(readers.fed(self.train_data.get_next(), self.feeds))
            trainer.create_optimizer()
        if len(steps) == known:
            raise ValueError("create_optimizer makes no step: call `minimize` of an optimizer in it")
        self.step = v1.group(*steps[known:])
        self.loss = tf.add_n([tf.reduce_mean(loss) for loss in self.program.losses])
        self.updates = metric.updates()
        self.evaluation: tuple[Any, Any] | None = None
        if hasattr(trainer, "infer_net") and self.config.get("runner.test_data_dir", self._folder("infer")):
            iterator = v1.data.make_initializable_iterator(self.data("infer"))
            with Program(name, training=False):
                fetches = trainer.infer_net(readers.fed(iterator.get_next(), self.feeds))
            self.evaluation = iterator.initializer, fetches

    def _folder(self, kind: str) -> Any:
        names = ("runner.train_data_dir",) if kind == "train" else ("runner.test_data_dir", "runner.infer_data_dir")
        return next((self.config[name] for name in names if self.config.get(name)), None)

    def data(self, kind: str) -> tf.data.Dataset:
        """Return the batches for "train" or "infer"."""
        where = self._folder(kind)
        if not where:
            raise ValueError(f"the configuration has no data for {kind}: give runner.{kind}_data_dir")
        place = self.data_folder / where
        if not place.is_dir():
            raise ValueError(
                f"there is no folder {place} with data for {kind}: give as `data_folder` the folder that holds it"
            )
        files = sorted(str(path) for path in place.iterdir() if not path.name.startswith("."))
        batch_size = self.config.get(f"runner.{kind}_batch_size")
        size = None if batch_size is None else int(batch_size)
        module = reader_of(self.config, self.folder)
        kinds = [one for one in vars(module).values() if inspect.isclass(one) and one.__module__ == module.__name__]
        slots = next((one for one in kinds if issubclass(one, readers.MultiSlotDataGenerator)), None)
        if slots is None:
            return readers.samples(module.RecDataset(files, self.config), self.feeds, size)
        reader = slots()
        if hasattr(reader, "init"):
            reader.init(self.config)
        return readers.pipeline(reader, files, self.feeds, size or 1)

    def run(
        self, session: Any, epochs: int | None = None, steps: int | None = None, model_dir: str | None = None
    ) -> list[dict[str, float]]:
        """Initialize all variables, train, and evaluate after each epoch.

        Args:
            session: a v1 session of the graph.
            epochs: how often the data is gone through; None: as the configuration says.
            steps: how many batches are taken for training and for evaluation in an epoch; None: all.
            model_dir: a folder where `model.ckpt-NUMBER` is saved after each epoch. If it has one already, training
                goes on from the latest with the epochs that are left. None: nothing is saved.

        Returns:
            By epoch: the mean loss, and what `net` and `infer_net` give for their last batch.
        """
        local = v1.local_variables_initializer()
        session.run(v1.group(v1.global_variables_initializer(), local))
        checkpoints = Checkpoints(model_dir)
        history = []
        for epoch in range(
            checkpoints.restore(session), int(self.config.get("runner.epochs") or 1) if epochs is None else epochs
        ):
            began = time.time()
            session.run((self.train_data.initializer, local))
            fetched = self._through(session, (self.fetches, self.loss, self.updates, self.step), steps)
            losses = [values[1] for values in fetched]
            metrics = {"loss": float(np.mean(losses)) if losses else float("nan"), "steps": float(len(losses))}
            metrics |= {"seconds": time.time() - began, **_means("train", fetched)}
            if self.evaluation is not None:
                initializer, fetches = self.evaluation
                session.run((initializer, local))
                metrics |= _means("test", self._through(session, (fetches, [], []), steps))
            history.append(metrics)
            print(f"epoch {epoch}: " + ", ".join(f"{key} {value:.6g}" for key, value in metrics.items()), flush=True)
            checkpoints.save(session, epoch + 1)
        return history

    def _through(self, session: Any, wanted: Any, steps: int | None) -> list[Any]:
        """Run what is wanted for each batch; return all of it."""
        fetched: list[Any] = []
        while steps is None or len(fetched) < steps:
            try:
                fetched.append(session.run(wanted))
            except tf.errors.OutOfRangeError:
                break
        return fetched


def _means(prefix: str, fetched: list[Any]) -> dict[str, float]:
    """Return the means of the last batch's values by name: sums over batches, such as an AUC, are complete there."""
    last = fetched[-1][0] if fetched else {}
    return {f"{prefix} {name}": float(np.mean(value)) for name, value in last.items()}


def reader_of(config: Mapping[str, Any], folder: Path) -> Any:
    """Return the module of the reader that `runner.pipe_command` or `runner.train_reader_path` names.

    Raises:
        ValueError: none is named.
    """
    words = str(config.get("runner.pipe_command") or "").split()
    name = next((word for word in words if word.endswith(".py")), config.get("runner.train_reader_path"))
    if not name:
        raise ValueError("the configuration names no reader: give runner.pipe_command, such as `python reader.py`")
    if str(folder.resolve()) not in sys.path:
        sys.path.insert(0, str(folder.resolve()))
    return importlib.import_module(str(name).removesuffix(".py"))
