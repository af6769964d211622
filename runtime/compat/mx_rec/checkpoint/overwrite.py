"""Sets aside a checkpoint of tables and variables whose name is used again: see `runtime.checkpoint.backup`.

Tables are in directories of their own, and increments also in an index. All three get another name, so that at whatever
point a save of the same name is killed, the checkpoint in TensorFlow's state file has its own tables.
"""

from __future__ import annotations

import glob
import re
import shutil
import tempfile
from pathlib import Path

from runtime.checkpoint import backup
from runtime.compat.mx_rec.checkpoint.layout import directory_of
from runtime.compat.mx_rec.checkpoint.model_index import ModelIndex


def set_aside(path: Path, state_file: str | None, meta_suffix: str) -> None:
    """Make room for the checkpoint `path`: an existing one is kept under another name until `drop`."""
    folders = [one for one in _folders(path) if one.is_dir()]
    if not folders and not backup.exists(path):
        return
    other = backup.free_name(path)
    for folder in folders:
        _link_tree(folder, folder.with_name(folder.name.removesuffix(path.name) + other.name))
    backup.link_bundle(path, other, meta_suffix)
    index = ModelIndex.of(path)
    index.copy(path.name, other.name)
    backup.rename_in_state(path.parent, state_file, path.name, other.name)
    index.remove([path.name])
    _remove(path, meta_suffix)


def name(path: Path, state_file: str | None) -> None:
    """Replace the name of the checkpoint that was set aside by `path`, which is saved, in TensorFlow's state file."""
    for other in _on_disk(path):
        backup.rename_in_state(path.parent, state_file, other, path.name)


def drop(path: Path, state_file: str | None, meta_suffix: str) -> None:
    """Remove the checkpoint set aside for `path`, increments that build on it, and remains of killed saves."""
    for other in _on_disk(path):
        index, named = ModelIndex.of(path), backup.named(path.parent, state_file)
        after = index.followers(other)
        if other in named or (named[-1:] and named[-1] in after):
            continue
        index.remove([other, *after])
        _remove(path.with_name(other), meta_suffix)
        for increment in after:
            shutil.rmtree(directory_of(path.with_name(increment), delta=True), ignore_errors=True)
    for folder in path.parent.glob(f".*sparse-{glob.escape(backup.prefix_of(path.name))}*.????????"):
        shutil.rmtree(folder, ignore_errors=True)  # of saves that were killed


def _folders(path: Path) -> list[Path]:
    return [directory_of(path), directory_of(path, delta=True)]


def _on_disk(path: Path) -> list[str]:
    names = {re.sub(r"^(delta-)?sparse-", "", one.name) for one in path.parent.iterdir() if one.is_dir()}
    return sorted({*backup.on_disk(path), *backup.of(path, names)})


def _link_tree(source: Path, target: Path) -> None:
    """Give the files of a directory second names in one that appears complete."""
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    shutil.copytree(source, partial, copy_function=backup.link, dirs_exist_ok=True)
    partial.rename(target)


def _remove(path: Path, meta_suffix: str) -> None:
    backup.remove_bundle(path, meta_suffix)
    for folder in _folders(path):
        shutil.rmtree(folder, ignore_errors=True)
