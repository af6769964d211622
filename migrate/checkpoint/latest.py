"""Checkpoints as files: the latest one of a folder, and those beside a program. Needs no TensorFlow."""

from __future__ import annotations

import contextlib
import glob
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

FILE = "checkpoint"
#: What the index of a checkpoint has that a Saver wrote of no variables alone: Keras' one, and one of tables.
_OTHERS = (b"_CHECKPOINTABLE_OBJECT_GRAPH", b"-keys")
#: What a SavedModel has beside the folder `variables`.
_MODELS = ("saved_model.pb", "saved_model.pbtxt")
#: How many folders below a program's checkpoints are looked for, and among how many files at most.
_DEEP, _MOST = 2, 5_000


def beside(programs: Sequence[str], skip: Path | None) -> list[Path]:
    """Return the folders near programs, files or folders, in which a v1 Saver has saved variables; none in `skip`."""
    roots = {path if path.is_dir() else path.parent for path in map(Path, programs)}
    near = [index for root in roots for index in _indices(root, _DEEP)]
    if any(root.resolve().is_relative_to(Path().resolve()) for root in roots):
        near += _indices(Path(), 1)
    folders = {index.parent.resolve(): index.parent for index in reversed(near) if _is_of_variables(index)}
    outside = (shown for real, shown in folders.items() if skip is None or not real.is_relative_to(skip.resolve()))
    return sorted(outside)


def _indices(root: Path, deep: int) -> Iterator[Path]:
    """Yield indices in a folder and below, the nearest first; among very many files, of the first ones alone."""
    level, left = [root], _MOST
    for _ in range(deep + 1):
        below: list[Path] = []
        for folder in level:
            with contextlib.suppress(OSError), os.scandir(folder) as entries:
                for entry in itertools.islice(entries, left):
                    left -= 1
                    if entry.name.endswith(".index"):
                        yield folder / entry.name
                    elif not entry.name.startswith(".") and entry.is_dir():
                        below.append(folder / entry.name)
        level = below


def _is_of_variables(index: Path) -> bool:
    """Return whether this is the index of a checkpoint that `migrate checkpoint` reads."""
    with contextlib.suppress(OSError):
        if index.is_file() and any(index.parent.glob(f"{glob.escape(index.stem)}.data-*")):
            return is_of_saver(index, index.read_bytes(), Path.exists)
    return False


def is_of_saver(index: Path, names: bytes, exists: Callable[[Path], bool]) -> bool:
    """Return whether an index, of which these are the bytes, is that of a checkpoint that a v1 Saver wrote to train on.

    The variables of a SavedModel are none.
    """
    in_model = index.name == "variables.index" and index.parent.name == "variables"
    folder = index.parent.parent
    if in_model and any(exists(folder / name) for name in _MODELS):
        return False
    return not any(word in names for word in _OTHERS)


def write_latest(place: Path, scratch: Path) -> None:
    """Let `tf.train.latest_checkpoint(place.parent)` be `place`, the prefix of a checkpoint.

    The file is written to the folder `scratch` first, of the same file system.
    """
    name = json.dumps(place.name)
    file = scratch / FILE
    file.write_text(f"model_checkpoint_path: {name}\nall_model_checkpoint_paths: {name}\n", encoding="utf-8")
    file.replace(place.parent / FILE)


def another_latest(place: Path) -> str:
    """Return the checkpoint that the file `checkpoint` beside `place` names, if it is another; else an empty string."""
    with contextlib.suppress(OSError, ValueError):
        text = (place.parent / FILE).read_text(encoding="utf-8")
        matched = re.search(r'^model_checkpoint_path: (".*")$', text, re.MULTILINE)
        name = str(json.loads(matched[1])) if matched else ""
        return name if Path(name).name != place.name else ""
    return ""
