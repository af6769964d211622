"""The batches of a static model's comparison."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.static_program import execute_static
from migrate.source.paddle.abstract.values import Tensor
from migrate.verify import workers
from migrate.verify.settings import Settings

_BATCHES = "migrate.verify.paddle.static.batches"
#: Ids of drawn batches are below this number.
_IDS = 10


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
        found = workers.run(_BATCHES, job)
        return found["batches"], "batches are those of the model's reader and sample data"
    except (MigrateError, ModuleNotFoundError) as error:
        reason = str(error).splitlines()[0]
    random = np.random.RandomState(settings.seed)
    size = settings.batch_size
    drawn = [[_drawn(feed, size, random) for feed in feeds] for _ in range(settings.drawn)]
    return drawn, f"batches are drawn, with ids below {_IDS} and sequences of one item: {reason}"


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


def _drawn(feed: tuple[Any, str, int], size: int, random: np.random.RandomState) -> Any:
    shape, dtype, level = feed
    sizes = [size, *(5 if one is None else one for one in shape[1:])]
    drawn = random.uniform(0, 1, sizes) if dtype.startswith("float") else random.randint(0, _IDS, sizes)
    return [drawn.astype(dtype), np.ones([size], np.int64)] if level else drawn.astype(dtype)
