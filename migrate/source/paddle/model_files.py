"""The texts of a model's folder, those of the packages in it included, by their names relative to the folder.

A file is converted with the texts beside it. Their names are relative to the file's own folder: a file of a package has
those of the model's folder with `../` before them.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from migrate.source.files.path_lookup import is_file

TRAINER, STATIC = "dygraph_model.py", "static_model.py"
TEXTS = (".py", ".yaml", ".yml")
_DEEP = 4  #: levels of packages
_MOST = 5_000  #: folders that are looked into


def is_trainer(name: str) -> bool:
    """Return whether the name of a file, with or without folders, is that of a trainer."""
    return posixpath.basename(name) in {TRAINER, STATIC}


def texts_of(folder: Path) -> list[Path]:
    """Return Python and YAML files of a folder, and Python files of the packages in it if it has a trainer.

    Raises:
        OSError: the folder cannot be listed.
    """
    texts = [path for path in sorted(folder.iterdir()) if path.suffix in TEXTS and is_file(path)]
    if any(is_trainer(path.name) for path in texts):
        texts += list(_of_packages(folder))
    return texts


def _of_packages(folder: Path) -> Iterator[Path]:
    for count, (place, folders, names) in enumerate(os.walk(folder)):
        below = Path(place)
        deep = len(below.parts) - len(folder.parts)
        if deep and any(map(is_trainer, names)):  # another model
            folders.clear()
            continue
        folders[:] = sorted(name for name in folders if name.isidentifier()) if deep < _DEEP and count < _MOST else []
        yield from (below / name for name in sorted(names) if deep and name.endswith(".py") and is_file(below / name))


def folder_of(path: Path) -> Path:
    """Return the model's folder that a file belongs to: its own, or one above that has a trainer."""
    own = path.absolute().parent
    above = own
    for _ in range(_DEEP + 1):
        if any(is_file(above / name) for name in (TRAINER, STATIC)):
            return above
        if not above.name.isidentifier():
            break
        above = above.parent
    return own


def in_folder(path: str, siblings: Iterable[str]) -> tuple[Path, str]:
    """Return the model's folder and the file's name in it, as the names of the files beside it tell."""
    ups = [name.count("../") for name in siblings if is_trainer(name)]
    parts = Path(path).absolute().parts
    up = 0 if is_trainer(path) else min(ups, default=0)
    return Path(*parts[: len(parts) - up - 1]), posixpath.join(*parts[len(parts) - up - 1 :])


def beside(name: str, files: Mapping[str, str]) -> dict[str, str]:
    """Return the other files of a folder by their names relative to the folder of the file `name`."""
    place = posixpath.dirname(name) or "."
    return {posixpath.relpath(other, place): text for other, text in files.items() if other != name}


def named_in_folder(name: str, siblings: Mapping[str, str]) -> dict[str, str]:
    """Return the files beside a file by their names in the model's folder, where `name` is the file's."""
    place = posixpath.dirname(name)
    return {posixpath.normpath(posixpath.join(place, other)): text for other, text in siblings.items()}


def module_of(path: str) -> str:
    """Return the dotted name of the module of a file; of `__init__.py`, that of the package."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def absolute(name: str | None, level: int, path: str) -> str:
    """Return the dotted name of what a file imports; `level` is the number of dots before it."""
    parts = posixpath.dirname(path).split("/") if "/" in path else []
    kept = parts[: max(len(parts) - level + 1, 0)] if level else []
    return ".".join([*kept, *([name] if name else [])])
