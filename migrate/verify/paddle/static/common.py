"""Batches as a static model is fed with them: arrays, and `[values, lengths]` for sequences.

`feeds` are shape, dtype and `lod_level` of each.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from migrate.errors import MigrateError
from migrate.source.paddle.abstract.values import tensors_in
from migrate.verify.paddle.trainer.common import class_of

TRAINER, CLASS = "static_model.py", "StaticModel"
#: Ids are taken modulo this number, and tables have as many rows at most: in Paddle they are matrices here.
IDS = 50
Feeds = Sequence[tuple[tuple[Any, ...], str, int]]
_MOST_LINES = 10_000  #: of a file


def generator_of(config: Mapping[str, Any]) -> Any:
    """Import the reader of slots that a configuration names, in Paddle, and make it; None where there is none."""
    from paddle.distributed.fleet.data_generator.data_generator import DataGenerator

    words = str(config.get("runner.pipe_command") or "").split()
    name = next((word for word in words if word.endswith(".py")), config.get("runner.train_reader_path"))
    if not name:
        return None
    module = importlib.import_module(str(name).removesuffix(".py"))
    for kind in vars(module).values():
        if inspect.isclass(kind) and issubclass(kind, DataGenerator) and kind.__module__ == module.__name__:
            reader = kind()
            if hasattr(reader, "init"):
                reader.init(dict(config))
            return reader
    return None


def batches_of(reader: Any, files: Sequence[str], feeds: Feeds, size: int) -> Iterator[list[Any]]:
    """Yield batches of the samples that a reader of slots gives; the last may be smaller."""
    samples = _samples(reader, itertools.chain.from_iterable(map(_lines, files)))
    while group := list(itertools.islice(samples, size)):
        yield [_column(group, place, feed) for place, feed in enumerate(feeds)]


def _lines(path: str) -> list[str]:
    with Path(path).open(encoding="utf-8") as file:
        return list(itertools.islice(file, _MOST_LINES))


def _samples(reader: Any, lines: Iterator[str]) -> Iterator[list[list[str]]]:
    """Yield the slots of samples from the text that Paddle's generator makes of them."""
    for line in lines:
        for sample in reader.generate_sample(line)():
            if sample is not None:
                words = iter(reader._gen_str(sample).split())
                yield [[next(words) for _ in range(int(count))] for count in words]


def _column(group: Sequence[list[list[str]]], place: int, feed: tuple[tuple[Any, ...], str, int]) -> Any:
    shape, dtype, level = feed
    read = float if dtype.startswith("float") else lambda word: int(word) % IDS
    parts = [np.array(list(map(read, sample[place])), dtype) for sample in group]
    inner = [-1 if size is None else size for size in shape[1:]]
    values = np.concatenate(parts).reshape([-1, *inner] if level else [len(group), *inner])
    lengths = np.array([len(part) for part in parts], np.int64) // max(1, int(np.prod([max(1, one) for one in inner])))
    return [values, lengths] if level else values


def as_fed(items: Any, feeds: Feeds) -> list[Any]:
    """Return a batch of arrays in the shapes and dtypes of the feeds; each item of a sequence is one of its own."""
    arrays = list(tensors_in(items, np.ndarray))
    if len(arrays) != len(feeds):
        raise MigrateError(
            f"the reader gives {len(arrays)} items, and the model takes {len(feeds)}; correct the reader"
        )
    fed: list[Any] = []
    for array, (shape, dtype, level) in zip(arrays, feeds, strict=True):
        inner = [-1 if size is None else size for size in shape[1:]]
        free = inner.count(-1) > 1 or len(inner) + 1 == array.ndim
        value = (array if free else array.reshape([len(array), *inner])).astype(dtype)
        fed.append([value, np.ones([len(value)], np.int64)] if level else value)
    return fed


def trainer_of(folder: str, config: Any) -> Any:
    """Import the static model of a folder and make it; the folder is where it runs."""
    return class_of(folder, TRAINER, CLASS, ("create_feeds", "net"))(config)


def minimized(trainer: Any, kind: type) -> tuple[Any, Any]:
    """Return the optimizer of this kind whose `minimize` the trainer calls, and the loss; its step is not added.

    Raises:
        MigrateError: it calls that of none, or of several.
    """
    calls: list[tuple[Any, Any]] = []
    with mock.patch.object(kind, "minimize", lambda own, loss: calls.append((own, loss))):
        trainer.create_optimizer()
    if len(calls) != 1:
        raise MigrateError("create_optimizer must call `minimize` of one optimizer with the loss; correct it")
    return calls[0]


def outputs_of(
    trainer: Any, fetches: Any, kinds: type | tuple[type, ...], compared: Callable[[Any], bool]
) -> Iterator[tuple[str, Any]]:
    """Yield (name, tensor) of all that `net` returned by name, and of the trainer's attributes that are compared."""
    for name, value in sorted(fetches.items()) if isinstance(fetches, dict) else ():
        if isinstance(value, kinds):
            yield f"fetched {name}", value
    for name, value in sorted(vars(trainer).items()):
        if isinstance(value, kinds) and compared(value):
            yield name, value
