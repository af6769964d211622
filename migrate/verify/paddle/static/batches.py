"""Worker that takes batches of the sample data with the model's own reader of slots, in Paddle: `run(job)`."""

from __future__ import annotations

import importlib
import inspect
import itertools
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from paddle.distributed.fleet.data_generator.data_generator import DataGenerator

from migrate.errors import MigrateError
from migrate.verify import working_copy
from migrate.verify.paddle.static.common import IDS
from migrate.verify.paddle.trainer.common import MOST

_MOST_LINES = 10_000  #: of a file


def run(job: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"batches": the first batches as NumPy arrays, `[values, lengths]` for sequences}; none without a reader.

    Raises:
        MigrateError: the data has no batch.
    """
    folder, config = Path(job["path"]).resolve(), dict(job["config"])
    working_copy.enter(str(folder))
    sys.path.insert(0, str(folder))
    reader = _reader(config)
    data = config.get("runner.train_data_dir")
    if reader is None or not data:
        return {"batches": []}  # its reader, if it has one, gives samples
    if hasattr(reader, "init"):
        reader.init(config)
    files = sorted(path for path in (folder / data).iterdir() if not path.name.startswith("."))
    size = min(int(config.get("runner.train_batch_size") or MOST), MOST)
    samples = _samples(reader, itertools.chain.from_iterable(map(_lines, files)))
    batches: list[Any] = []
    while len(batches) < job["count"] and (group := list(itertools.islice(samples, size))):
        batches.append([_column(group, place, feed) for place, feed in enumerate(job["feeds"])])
    if not batches:
        raise MigrateError(f"{folder / data}: has no sample; give more data")
    return {"batches": batches}


def _reader(config: Mapping[str, Any]) -> Any:
    words = str(config.get("runner.pipe_command") or "").split()
    name = next((word for word in words if word.endswith(".py")), config.get("runner.train_reader_path"))
    if not name:
        return None
    module = importlib.import_module(str(name).removesuffix(".py"))
    for one in vars(module).values():
        if inspect.isclass(one) and issubclass(one, DataGenerator) and one.__module__ == module.__name__:
            return one()
    return None


def _lines(path: Path) -> list[str]:
    with path.open(encoding="utf-8") as file:
        return list(itertools.islice(file, _MOST_LINES))


def _samples(reader: Any, lines: Iterator[str]) -> Iterator[list[list[str]]]:
    """Yield the slots of samples from the text that Paddle's generator makes of them."""
    for line in lines:
        for sample in reader.generate_sample(line)():
            if sample is not None:
                words = iter(reader._gen_str(sample).split())
                yield [[next(words) for _ in range(int(count))] for count in words]


def _column(group: Sequence[list[list[str]]], place: int, feed: tuple[Sequence[Any], str, int]) -> Any:
    shape, dtype, level = feed
    parts = [_numbers(sample[place], dtype) for sample in group]
    inner = [-1 if size is None else size for size in shape[1:]]
    values = np.concatenate(parts).reshape([-1, *inner] if level else [len(group), *inner])
    lengths = np.array([len(part) for part in parts], np.int64) // max(1, int(np.prod([max(1, one) for one in inner])))
    return [values, lengths] if level else values


def _numbers(words: Sequence[str], dtype: str) -> Any:
    if dtype.startswith("float"):
        return np.array([float(word) for word in words], dtype)
    ids = np.array([int(word) for word in words], object)
    return np.array([int(one) % IDS for one in ids], dtype)
