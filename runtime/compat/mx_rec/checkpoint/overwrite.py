"""Sets aside a checkpoint of tables and variables whose name is used again: see `runtime.checkpoint.backup`.

Tables are in a directory of their own. It gets another name, too, so that at whatever point a save of the same name is
killed, the checkpoint in TensorFlow's state file has its own tables.
"""

from __future__ import annotations

import glob
import shutil
import tempfile
from pathlib import Path

from runtime.checkpoint import backup
from runtime.compat.mx_rec.checkpoint.layout import directory_of

__all__ = ["drop", "name", "set_aside"]


def set_aside(path: Path, state_file: str | None, meta_suffix: str) -> None:
    """Make room for the checkpoint `path`: an existing one is kept under another name until `drop`."""
    folder = directory_of(path)
    if not folder.is_dir() and not backup.exists(path):
        return
    other = backup.free_name(path)
    if folder.is_dir():
        _link_tree(folder, directory_of(other))
    backup.link_bundle(path, other, meta_suffix)
    backup.rename_in_state(path.parent, state_file, path.name, other.name)
    _remove(path, meta_suffix)


def name(path: Path, state_file: str | None) -> None:
    """Replace the name of the checkpoint that was set aside by `path`, which is saved, in TensorFlow's state file."""
    for other in _on_disk(path):
        backup.rename_in_state(path.parent, state_file, other, path.name)


def drop(path: Path, state_file: str | None, meta_suffix: str) -> None:
    """Remove the checkpoint set aside for `path`, and remains of killed saves."""
    named = backup.named(path.parent, state_file)
    for other in _on_disk(path):
        if other not in named:
            _remove(path.with_name(other), meta_suffix)
    for folder in path.parent.glob(f".*sparse-{glob.escape(backup.prefix_of(path.name))}*.????????"):
        shutil.rmtree(folder, ignore_errors=True)  # of saves that were killed


def _on_disk(path: Path) -> list[str]:
    names = {one.name.removeprefix("sparse-") for one in path.parent.iterdir() if one.is_dir()}
    return sorted({*backup.on_disk(path), *backup.of(path, names)})


def _link_tree(source: Path, target: Path) -> None:
    """Give the files of a directory second names in one that appears complete."""
    partial = Path(tempfile.mkdtemp(prefix=f".{target.name}.", dir=target.parent))
    shutil.copytree(source, partial, copy_function=backup.link, dirs_exist_ok=True)
    partial.rename(target)


def _remove(path: Path, meta_suffix: str) -> None:
    backup.remove_bundle(path, meta_suffix)
    shutil.rmtree(directory_of(path), ignore_errors=True)
