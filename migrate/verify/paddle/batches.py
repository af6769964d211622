"""Worker that takes batches of the sample data with the model's own reader, in Paddle: `run(job)`."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from paddle.io import IterableDataset
from paddle.io.dataloader.collate import default_collate_fn, default_convert_fn

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import mapped
from migrate.verify import program_files
from migrate.verify.paddle.static import common
from migrate.verify.paddle.trainer.common import MOST


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"batches": the first batches as NumPy arrays in nested lists and dicts}.

    With `job["feeds"]`, what a static model is fed with, batches are as that takes them; its reader may give slots.

    Raises:
        MigrateError: the configuration names no reader or no data, or the data has no batch.
    """
    folder, config, feeds = Path(job["path"]).resolve(), dict(job["config"]), job.get("feeds", ())
    program_files.enter(str(folder))
    sys.path.insert(0, str(folder))
    data, name = config.get("runner.train_data_dir"), config.get("runner.train_reader_path")
    generator = common.generator_of(config) if feeds else None
    if not data or not (name or generator):
        raise MigrateError(f"{folder}/config.yaml: names no reader and no sample data; give `inputs` in a schema")
    files = sorted(str(path) for path in (folder / data).iterdir() if not path.name.startswith("."))
    batch_size = config.get("runner.train_batch_size")
    size = None if batch_size is None else min(int(batch_size), MOST)  # without a size, the reader makes whole batches
    if generator is not None:
        loaded = common.batches_of(generator, files, feeds, size or MOST)
    else:
        dataset = importlib.import_module(str(name)).RecDataset(files, config=config)
        array = lambda item: np.asarray(item.numpy() if hasattr(item, "numpy") else item)  # noqa: E731
        loaded = (mapped(array, items) for items in _loaded(dataset, size))
        loaded = (common.as_fed(items, feeds) for items in loaded) if feeds else loaded
    batches = list(islice(loaded, job["count"]))
    if not batches:
        of_size = "" if size is None else f" of {size} samples"
        raise MigrateError(f"{folder / data}: has no batch{of_size}; give more data")
    return {"batches": batches}


def _loaded(dataset: Any, size: int | None) -> Iterator[Any]:
    """Yield batches as `paddle.io.DataLoader(drop_last=True)` does; that one waits for ever when a reader fails."""
    samples = iter(dataset) if isinstance(dataset, IterableDataset) else (dataset[i] for i in range(len(dataset)))
    if size is None:
        yield from map(default_convert_fn, samples)
        return
    while len(items := list(islice(samples, size))) == size:
        yield default_collate_fn(items)
