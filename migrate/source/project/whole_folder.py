"""The files of whole directories, for an output directory in which a program of several files runs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from migrate.errors import MigrateError
from migrate.source.project.discovery import Input, Walker

#: Bytes of a file that is copied; larger ones are data.
LARGEST = 10_000_000


def files_below(paths: Sequence[str], skip: Path, gitignore: bool) -> tuple[dict[Path, bytes], list[str]]:
    """Return relative path -> bytes of the files below the directories in `paths`, and the files that are too large.

    Left out are what `migrate` leaves out of a directory, hidden files, links that lead out of it, and `skip`.
    Raises MigrateError if no path is a directory.
    """
    roots = [Path(path) for path in paths if Path(path).is_dir()]
    if not roots:
        raise MigrateError(f"{', '.join(paths)}: --copy-rest copies from a directory; give one, or remove the option")
    found: dict[Path, bytes] = {}
    large: list[str] = []
    for root in roots:
        for _, relative in Walker(root, skip, gitignore, suffixes=("",)).files():
            one = Input(root / relative, Path(relative), explicit=False)
            if one.path.name.startswith(".") or one.leads_out is not None:
                continue
            if one.path.stat().st_size > LARGEST:
                large.append(one.path.as_posix())
            else:
                found[one.relative] = one.path.read_bytes()
    return found, large
