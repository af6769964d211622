"""Checkpoints as files: the latest one of a folder, and those beside a program. Needs no TensorFlow."""

from __future__ import annotations

import contextlib
import glob
import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

FILE = "checkpoint"
#: What the index of a checkpoint has that a Saver wrote of no variables alone: Keras' one, and one of tables.
_OTHERS = (b"_CHECKPOINTABLE_OBJECT_GRAPH", b"-keys")
#: What a SavedModel has beside the folder `variables`.
_MODELS = ("saved_model.pb", "saved_model.pbtxt")
#: Where checkpoints are looked for, below a program's folder, and below ours.
_BELOW = ("*.index", "*/*.index", "*/*/*.index")
_BELOW_US = _BELOW[1:2]


def beside(programs: Sequence[str], skip: Path | None) -> list[Path]:
    """Return the folders near programs, files or folders, in which a v1 Saver has saved variables; none in `skip`."""
    roots = {path if path.is_dir() else path.parent for path in map(Path, programs)}
    near = [index for root in roots for pattern in _BELOW for index in root.glob(pattern)]
    if any(root.resolve().is_relative_to(Path().resolve()) for root in roots):
        near += [index for pattern in _BELOW_US for index in Path().glob(pattern)]
    folders = {index.parent.resolve(): index.parent for index in reversed(near) if _is_of_variables(index)}
    outside = (shown for real, shown in folders.items() if skip is None or not real.is_relative_to(skip.resolve()))
    return sorted(outside)


def _is_of_variables(index: Path) -> bool:
    """Return whether this is the index of a checkpoint that `migrate checkpoint` reads."""
    with contextlib.suppress(OSError):
        hidden = any(part.startswith(".") for part in index.parts if part not in {".", ".."})
        if not hidden and index.is_file() and any(index.parent.glob(f"{glob.escape(index.stem)}.data-*")):
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
