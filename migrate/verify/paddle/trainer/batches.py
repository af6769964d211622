"""Worker that takes batches of the sample data with the model's own reader, in Paddle: `run(job)`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from paddle.io import DataLoader

from migrate.errors import MigrateError
from migrate.verify.paddle.trainer.common import MOST


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"batches": the first batches as NumPy arrays in nested lists}.

    Raises:
        MigrateError: the configuration names no reader or no data, or the data has no batch.
    """
    folder, config = Path(job["path"]).resolve(), dict(job["config"])
    os.chdir(folder)
    sys.path.insert(0, str(folder))
    data, name = config.get("runner.train_data_dir"), config.get("runner.train_reader_path")
    if not data or not name:
        raise MigrateError(f"{folder}/config.yaml: names no reader and no sample data; give `inputs` in a schema")
    files = sorted(str(path) for path in (folder / data).iterdir() if not path.name.startswith("."))
    given = config.get("runner.train_batch_size")
    size = None if given is None else min(int(given), MOST)  # without a size, the reader makes whole batches
    dataset = importlib.import_module(name).RecDataset(files, config=config)
    loader = DataLoader(dataset, batch_size=size, drop_last=size is not None, return_list=True)
    batches: list[Any] = []
    for items in loader:
        batches.append(_arrays(items))
        if len(batches) == job["count"]:
            break
    if not batches:
        told = "" if size is None else f" of {size} samples"
        raise MigrateError(f"{folder / data}: has no batch{told}; give more data")
    return {"batches": batches}


def _arrays(items: Any) -> Any:
    if isinstance(items, list | tuple):
        return [_arrays(item) for item in items]
    if isinstance(items, dict):
        return [_arrays(item) for item in items.values()]
    return np.asarray(items.numpy() if hasattr(items, "numpy") else items)
