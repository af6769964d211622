"""The batches of a static model's comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.values import Tensor
from migrate.source.paddle.static.program import execute_static
from migrate.verify import workers
from migrate.verify.paddle.trainer.common import MOST, tensors_in
from migrate.verify.paddle.trainer.random_batches import IDS, drawn
from migrate.verify.settings import Settings

_BATCHES, _SAMPLES = "migrate.verify.paddle.static.batches", "migrate.verify.paddle.trainer.batches"


def static_batches(
    folder: Path, files: Mapping[str, str], config: Mapping[str, Any], settings: Settings
) -> tuple[list[Any], str]:
    """Return batches of the reader, or drawn ones where it does not run, and which of both they are.

    Raises:
        MigrateError: `create_feeds` does not tell what the model is fed with.
    """
    feeds = feeds_of(folder, files)
    job = {"path": str(folder), "config": dict(config), "count": settings.drawn, "feeds": feeds}
    try:
        slots = workers.run(_BATCHES, job)["batches"]
        batches = slots or [_as_fed(items, feeds) for items in workers.run(_SAMPLES, job)["batches"]]
        return batches, "batches are those of the model's reader and sample data"
    except (MigrateError, ModuleNotFoundError) as error:
        reason = str(error).splitlines()[0]
    size = min(int(config.get("runner.train_batch_size") or settings.batch_size), MOST)
    items = [Tensor(shape, dtype) for shape, dtype, _ in feeds]
    batches = [_with_lengths(one, feeds) for one in drawn(items, size, settings.drawn, settings.seed)]
    return batches, f"batches are drawn, with ids below {IDS} and sequences of one item: {reason}"


def feeds_of(folder: Path, files: Mapping[str, str]) -> list[tuple[Any, str, int]]:
    """Return shape, dtype and `lod_level` of what a model is fed with.

    Raises:
        MigrateError: `create_feeds` does not tell.
    """
    program = execute_static(files, DataFiles(folder))
    feeds = program.results.get("create_feeds")
    if not isinstance(feeds, list | tuple) or not all(isinstance(one, Tensor) for one in feeds):
        raise MigrateError(f"{folder}: create_feeds does not tell what the model is fed with; correct it")
    return [(one.shape or (None,), one.dtype or "float32", one.lod) for one in feeds]


def _as_fed(items: Any, feeds: list[tuple[Any, str, int]]) -> list[Any]:
    """Return a batch of a `RecDataset` in the shapes and dtypes of the feeds; each item is a sequence of its own."""
    arrays = list(tensors_in(items, np.ndarray))
    if len(arrays) != len(feeds):
        raise MigrateError(
            f"the reader gives {len(arrays)} items, and the model takes {len(feeds)}; correct the reader"
        )
    found = []
    for array, (shape, dtype, _) in zip(arrays, feeds, strict=True):
        inner = [-1 if size is None else size for size in shape[1:]]
        free = inner.count(-1) > 1 or len(inner) + 1 == array.ndim
        found.append((array if free else array.reshape([len(array), *inner])).astype(dtype))
    return _with_lengths(found, feeds)


def _with_lengths(arrays: list[Any], feeds: list[tuple[Any, str, int]]) -> list[Any]:
    """Return arrays as a model is fed: those of sequences with the lengths, of one item each."""
    pairs = zip(arrays, feeds, strict=True)
    return [[values, np.ones([len(values)], np.int64)] if level else values for values, (_, _, level) in pairs]
