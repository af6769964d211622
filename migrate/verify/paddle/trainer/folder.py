"""Verifies a converted model's folder: takes batches, runs both trainers, and compares."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.schema import Schema
from migrate.source.files.encoding import read_source
from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.program import settings, trainer_of
from migrate.source.paddle.abstract.readers import batch_of
from migrate.source.paddle.abstract.values import Tensor, mapped
from migrate.source.paddle.model_files import STATIC, TRAINER, folder_of, texts_of
from migrate.source.paddle.static.program import execute_static
from migrate.verify import compare, workers
from migrate.verify.comparer import Comparer
from migrate.verify.paddle.random_batches import IDS, drawn
from migrate.verify.paddle.running import run_both
from migrate.verify.paddle.static.common import Feeds, as_fed
from migrate.verify.paddle.trainer.common import MOST
from migrate.verify.settings import Settings

_BATCHES = "migrate.verify.paddle.batches"
#: A BatchNorm of few samples leaves nothing of a gradient but rounding: two of them become 1 and -1, whatever they are.
_SAMPLES = 32
#: A loss with a margin may be 0 for all samples at some weights; so many others are tried before samples are drawn.
#: A sigmoid that is 1 but for the last digits leaves none of its gradient; at others it may not be.
_OTHER_WEIGHTS, _STILL = 3, "all gradients are 0 at the first weights"
_UNSURE = "other ids do not determine these gradients at the first weights either: the programs are compared at others"
_NONE = "all gradients are 0 or rounding on these batches, so that steps show nothing"


def has_trainer(path: str) -> bool:
    """Return whether a path is a model's folder, or a file in one."""
    return any((_folder(path) / name).is_file() for name in (TRAINER, STATIC))


def _folder(path: str) -> Path:
    """Return the model's folder that a path is or stands in."""
    return Path(path) if Path(path).is_dir() else folder_of(Path(path))


def verify(original: str, converted: str, schema: Schema | None, settings_: Settings) -> Verification:
    """Run the trainers of two folders, given by themselves or by a file in each, and compare them stage by stage.

    Raises:
        MigrateError: a folder has no trainer, or one of the programs fails.
    """
    first, second = _folder(original).resolve(), _folder(converted).resolve()
    files = {path.relative_to(first).as_posix(): read_source(path) for path in texts_of(first)}
    trainer = STATIC if Path(original).name == STATIC else trainer_of(files)
    if not (second / trainer).is_file():
        raise MigrateError(f"{second}: has no {trainer}; give the folder that `migrate convert` wrote")
    config = _changed(settings(files), settings_) | {"config_abs_dir": str(first)}
    if trainer == STATIC:
        batches, origin = _batches(first, files, config, schema, settings_, feeds_of(first, files))
        static = measure(str(first), str(second), config, batches, settings_, static=True)
        return Verification(original, converted, tuple(static.comparisons()), (origin, *static.notes), static.memory())
    batches, origin = _batches(first, files, config, schema, settings_)
    others = (replace(settings_, seed=settings_.seed + number) for number in range(1, 1 + _OTHER_WEIGHTS))
    elsewhere = (measure(str(first), str(second), config, batches, other) for other in others)
    pair = measure(str(first), str(second), config, batches, settings_)
    comparisons, notes, trains = list(pair.comparisons()), [origin, *pair.notes], pair.trains()
    unsure = pair.undetermined()
    if unsure:
        wide = config | {"runner.train_batch_size": max(_SAMPLES, _size(config))}
        more, source = _batches(first, files, wide, schema, settings_)
        if source != origin or _size(config) == 1:  # too few samples, or a program that takes them one by one
            wide, more = config, batches
        again = measure(str(first), str(second), wide, _others(more, settings_), settings_, settles=True)
        comparisons = [c for c in comparisons if c.verdict != "differs" or c.name not in unsure]
        comparisons += again.comparisons()
        trains = trains or again.trains()
        notes += [
            f"the sample data does not determine the gradients of {', '.join(sorted(unsure))}, in the original either: "
            "they change in the second digit when weights change by one unit in the last place; they are compared on "
            f"other ids, up to {IDS}, in batches of {_size(wide)}",
            *again.notes,
        ]
        if any(one.verdict == "undetermined" for one in again.comparisons()):
            for sure in itertools.islice((one for one in elsewhere if not one.undetermined()), 1):
                comparisons = [one for one in comparisons if one.verdict != "undetermined"] + [*sure.comparisons()]
                notes += [_UNSURE, *sure.notes]
    if not trains:
        for again in itertools.islice((one for one in elsewhere if one.trains()), 1):
            trains = True
            comparisons += again.comparisons()
            notes += [f"{_STILL}: the programs are compared at others, too", *again.notes]
    if not trains:
        size = max(_SAMPLES, _size(config))
        try:
            more = _drawn(first, files, schema, size, settings_)
        except MigrateError as error:
            raise MigrateError(f"{_NONE}, and others cannot be drawn: {error}") from error
        again = measure(
            str(first), str(second), config | {"runner.train_batch_size": size}, more, settings_, settles=True
        )
        comparisons += again.comparisons()
        notes.append(f"{_NONE}: the programs are compared on drawn batches of {size} samples, too")
        if not again.trains():  # nothing is proven
            comparisons.append(compare.compare("gradient", "all weights", np.zeros(1), np.zeros(1), kind="gradient"))
            notes[-1] += ", where they are so again"
        notes += again.notes
    return Verification(original, converted, tuple(comparisons), tuple(notes), pair.memory())


def measure(
    original: str,
    converted: str,
    config: Mapping[str, Any],
    batches: Sequence[Any],
    settings_: Settings,
    settles: bool = False,
    static: bool = False,
) -> Comparer:
    """Run the trainers of two folders on the same batches, NumPy arrays as the reader's loader gives them.

    With `settles`, these batches are the last that are tried: a gradient that the original does not determine is then
    `undetermined` if float64 does not determine it either; else it differs. The steps of a `static` model are made by
    its own graph. Raises MigrateError if one of the programs fails.
    """
    job = {"path": original, "config": dict(config), "batches": batches, "settings": settings_}
    package = f"migrate.verify.paddle.{'static' if static else 'trainer'}"
    runs = run_both(package, job, converted, settles, follows=not static)
    return Comparer(runs.original, runs.converted, runs.reference, runs.notes)


def _changed(config: dict[str, Any], settings_: Settings) -> dict[str, Any]:
    """Return the configuration with the values that the user gives instead; a table may be too large for a proof."""
    for key in settings_.changed:
        if key not in config:
            raise MigrateError(f"config.yaml has no `{key}`: set one of {', '.join(config)}")
    return config | dict(settings_.changed)


def _size(config: dict[str, Any], default: int = MOST) -> int:
    return min(int(config.get("runner.train_batch_size") or default), MOST)


def _modulo(value: Any, most: int | None) -> Any:
    if most and value.dtype.kind == "f":  # readers may give ids as floats
        return np.where((value >= most) & (value == np.floor(value)), value % most, value).astype(value.dtype)
    return value % most if most and value.dtype.kind == "i" else value


def _others(batches: list[Any], settings_: Settings) -> list[Any]:
    """Return batches like the given ones, with other ids: none is 0, with which readers pad. Labels of 0 and 1 stay."""
    random = np.random.RandomState(settings_.seed)

    def other(value: Any) -> Any:
        most = int(value.max(initial=0)) if value.dtype.kind == "i" else 0
        return random.randint(1, min(most, IDS) + 1, value.shape).astype(value.dtype) if most > 1 else value

    return [mapped(other, items) for items in batches]


def _batches(
    folder: Path,
    files: dict[str, str],
    config: dict[str, Any],
    schema: Schema | None,
    settings_: Settings,
    feeds: Feeds = (),
) -> tuple[list[Any], str]:
    """Return batches of the reader, or drawn ones where the reader does not run, and which of both they are.

    Those of a static model are as its `feeds` take them.
    """
    try:
        job = {"path": str(folder), "config": config, "count": settings_.drawn, "feeds": feeds}
        batches = workers.run(_BATCHES, job)["batches"]
        most = None if feeds else settings_.ids
        read = [mapped(lambda value: _modulo(value, most), items) for items in batches]
        return read, "batches are those of the model's reader and sample data"
    except (MigrateError, ModuleNotFoundError) as error:
        reason = f"because the reader does not run: {str(error).splitlines()[0]}"
    size = _size(config, settings_.batch_size)
    if feeds:
        items = [Tensor(shape, dtype) for shape, dtype, _ in feeds]
        batches = [as_fed(one, feeds) for one in drawn(items, size, settings_.drawn, settings_.seed)]
        return batches, f"batches are drawn, with ids below {IDS} and sequences of one item, {reason}"
    inputs = schema.inputs if schema is not None else ()
    how = "as `inputs` of the schema tell" if inputs else f"with ids below {IDS}"
    return _drawn(folder, files, schema, size, settings_), f"batches are drawn, {how}, {reason}"


def feeds_of(folder: Path, files: dict[str, str]) -> Feeds:
    """Return shape, dtype and `lod_level` of what a static model is fed with.

    Raises:
        MigrateError: its `create_feeds` does not tell.
    """
    feeds = execute_static(files, DataFiles(folder)).results.get("create_feeds")
    if not isinstance(feeds, list | tuple) or not all(isinstance(one, Tensor) for one in feeds):
        raise MigrateError(f"{folder}: create_feeds does not tell what the model is fed with; correct it")
    return [(one.shape or (None,), one.dtype or "float32", one.lod) for one in feeds]


def _drawn(folder: Path, files: dict[str, str], schema: Schema | None, size: int, settings_: Settings) -> list[Any]:
    inputs = schema.inputs if schema is not None else ()
    return drawn(inputs or batch_of(files, folder), size, settings_.drawn, settings_.seed)
