"""Renames a checkpoint whose name is used again, so that a killed process loses neither the old nor the new one.

TensorFlow replaces the files of a checkpoint one after the other, and tables and lists are in separate files: while it
is overwritten, a checkpoint is neither the old nor the new one. So the files of the old checkpoint first get second
names (`model-3` also becomes `model-aside-3`), then references to it are changed, and it is removed once the new
checkpoint is referenced.
"""

from __future__ import annotations

import glob
import itertools
import os
import re
import shutil
from collections.abc import Iterable
from pathlib import Path

import tensorflow as tf

_META = "meta"


def exists(path: Path) -> bool:
    """Whether there is a checkpoint with the prefix `path`."""
    return Path(f"{path}.index").exists()


def free_name(path: Path) -> Path:
    """Return an unused prefix under which the checkpoint `path` can be set aside."""
    stem, step = _split(path.name)
    for number in itertools.count(1):
        candidate = path.with_name(f"{stem}-aside{'' if number == 1 else number}{step}")
        if not any(path.parent.glob(f"*{glob.escape(candidate.name)}*")):
            return candidate
    raise AssertionError


def of(path: Path, names: Iterable[str]) -> list[str]:
    """Return the names, out of `names`, under which `path` was set aside."""
    stem, step = _split(path.name)
    return [name for name in names if re.fullmatch(rf"{re.escape(stem)}-aside\d*{step}", name)]


def on_disk(path: Path) -> list[str]:
    """Return the names under which `path` was set aside and of which some files exist."""
    names = {re.sub(r"\.(index|data-\d+-of-\d+)$", "", file.name) for file in path.parent.iterdir()}
    return sorted(of(path, names))


def prefix_of(name: str) -> str:
    """Return the name of a checkpoint, perhaps one that was set aside, without its step."""
    stem, step = _split(name)
    return re.sub(r"-aside\d*$", "", stem) if step else stem


def _split(name: str) -> tuple[str, str]:
    stem, dash, step = name.rpartition("-")
    return (stem, dash + step) if step.isdigit() else (name, "")


def link(source: str | Path, target: str | Path) -> None:
    """Hard-link a file, or copy it if the file system has no hard links."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def link_bundle(source: Path, target: Path, meta_suffix: str = _META) -> None:
    """Give a checkpoint a second prefix. Its index file is linked last: without it, the files are no checkpoint."""
    files = [*_data(source), Path(f"{source}.{meta_suffix}"), Path(f"{source}.index")]
    for file in files:
        if file.exists():
            link(file, target.with_name(target.name + file.name.removeprefix(source.name)))


def set_aside(path: Path, state_file: str | None = None) -> None:
    """Set the checkpoint `path`, which only TensorFlow's state file refers to, aside."""
    if exists(path):
        other = free_name(path)
        link_bundle(path, other)
        rename_in_state(path.parent, state_file, path.name, other.name)
        remove_bundle(path)


def remove_bundle(prefix: Path, meta_suffix: str = _META) -> None:
    """Remove the files of a checkpoint, the index first: without it, remaining files are no checkpoint."""
    Path(f"{prefix}.index").unlink(missing_ok=True)
    for file in _data(prefix):
        file.unlink(missing_ok=True)
    Path(f"{prefix}.{meta_suffix}").unlink(missing_ok=True)


def _data(prefix: Path) -> list[Path]:
    return sorted(prefix.parent.glob(f"{glob.escape(prefix.name)}.data-?????-of-?????"))


def named(directory: Path, state_file: str | None = None) -> list[str]:
    """Return the names of the checkpoints in TensorFlow's state file of a directory, the latest last."""
    return [Path(path).name for path in _paths(directory, state_file)]


def rename_in_state(directory: Path, state_file: str | None, old: str, new: str) -> None:
    """Replace the name `old` by `new` in TensorFlow's state file."""
    paths = _paths(directory, state_file)
    renamed = [str(directory / new) if _is(Path(path), directory / old) else path for path in paths]
    if renamed != paths:
        tf.compat.v1.train.update_checkpoint_state(str(directory), renamed[-1], renamed, state_file)


def _is(path: Path, other: Path) -> bool:
    return path.name == other.name and path.parent.resolve() == other.parent.resolve()


def _paths(directory: Path, state_file: str | None) -> list[str]:
    state = tf.train.get_checkpoint_state(str(directory), state_file)
    if state is None:
        return []
    others = [path for path in state.all_model_checkpoint_paths if path != state.model_checkpoint_path]
    return [*others, state.model_checkpoint_path]
