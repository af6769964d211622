"""One side of `benchmarks.paddle.auc`: trains a trainer's folder with several seeds, and prints its AUCs as JSON.

python -m benchmarks.paddle.auc_part paddle|converted FOLDER DATA EPOCHS SEEDS
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

#: One dictionary for each epoch: name of a metric -> its value over the test data.
History = list[dict[str, float]]


def main(side: str, folder: str, data: str, epochs: str, seeds: str) -> None:
    """Print {"history": of each seed}."""
    sys.path.insert(0, folder)
    os.chdir(data)
    trained: Callable[[Path, Path, int, int], History] = paddle_trained if side == "paddle" else converted_trained
    found = [trained(Path(folder), Path(data), int(epochs), seed) for seed in range(1, int(seeds) + 1)]
    print("AUCS " + json.dumps({"history": found}), flush=True)


def converted_trained(folder: Path, data: Path, epochs: int, seed: int) -> History:
    """Train the converted folder; return the metrics after each epoch."""
    import tensorflow as tf

    from runtime import nn

    config = nn.settings(str(data / "config.yaml"))
    seeded(seed)
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        tf.compat.v1.set_random_seed(seed)
        training = nn.Training(_trainer(), config, str(folder), data_folder=str(data))
        history = training.run(session, epochs)
    return [{k.removeprefix("test "): v for k, v in told.items() if k.startswith("test ")} for told in history]


def paddle_trained(folder: Path, data: Path, epochs: int, seed: int) -> History:
    """Train the original as PaddleRec's own tool does; return the metrics after each epoch."""
    import tensorflow  # noqa: F401  (the process dies if Paddle is loaded before it)

    import paddle  # isort: skip

    from migrate.source.paddle.abstract.program import settings

    config = settings({"config.yaml": (data / "config.yaml").read_text(encoding="utf-8")})
    seeded(seed)
    paddle.seed(seed)
    with paddle.utils.unique_name.guard():  # names of parameters begin anew with each seed
        return _epochs(epochs, data, {"config_abs_dir": str(data), **config})


def _epochs(epochs: int, data: Path, config: dict[str, Any]) -> History:
    import paddle

    trainer = _trainer()
    model = trainer.create_model(config)
    optimizer = trainer.create_optimizer(model, config)
    made = trainer.create_metrics()
    metrics, names = made if isinstance(made, tuple) else (made, [])
    history: History = []
    for _ in range(epochs):
        model.train()
        for batch in _batches("train", data, config):
            loss = trainer.train_forward(model, metrics, batch, config)[0]
            loss.backward()
            optimizer.step()
            optimizer.clear_grad()
        model.eval()
        for metric in metrics:
            metric.reset()
        told: list[Mapping[str, Any]] = []
        with paddle.no_grad():
            for batch in _batches("infer", data, config):
                told.append(trainer.infer_forward(model, metrics, batch, config)[-1] or {})
        values = [float(np.mean(metric.accumulate())) for metric in metrics]
        history.append(dict(zip(names, values, strict=True)) or _area(told))
    return history


def _batches(kind: str, data: Path, config: Mapping[str, Any]) -> Iterator[Any]:
    """Yield the batches of PaddleRec's loader: in order, the last one only if it is full."""
    import importlib

    from paddle.io import DataLoader

    where = data / str(config["runner.train_data_dir" if kind == "train" else "runner.test_data_dir"])
    files = sorted(str(path) for path in where.iterdir() if not path.name.startswith("."))
    dataset = importlib.import_module(config[f"runner.{kind}_reader_path"]).RecDataset(files, config=config)
    yield from DataLoader(dataset, batch_size=int(config[f"runner.{kind}_batch_size"]), drop_last=True)


def _area(told: list[Mapping[str, Any]]) -> dict[str, float]:
    """Return the AUC of predictions and labels that evaluation tells, where the trainer has no metrics."""
    import paddle

    metric = paddle.metric.Auc()
    for one in told:
        ones = one["prediction"].numpy().reshape(-1)
        metric.update(np.stack([1 - ones, ones], 1), one["label"].numpy())
    return {"auc": float(metric.accumulate())}


def seeded(seed: int) -> None:
    """Seed what programs draw outside of the frameworks."""
    random.seed(seed)
    np.random.seed(seed)


def _trainer() -> Any:
    import importlib

    return importlib.import_module("dygraph_model").DygraphModel()


if __name__ == "__main__":
    main(*sys.argv[1:])
