"""The files of whole directories, for an output directory in which a program of several files runs."""

from __future__ import annotations

import stat
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular
from migrate.source.project.discovery import Walker

#: Bytes of a file that is copied; larger ones are data.
LARGEST = 10_000_000


@dataclass
class Rest:
    """What is copied, by path below the output, and the paths of what is not."""

    files: dict[Path, bytes] = field(default_factory=dict)
    executable: set[Path] = field(default_factory=set)  #: those of `files` that their owner may run
    large: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)  #: that lead out of their directory
    ignored: list[str] = field(default_factory=list)  #: that git ignores; a directory ends with a slash

    @property
    def checkpoints(self) -> list[str]:
        """The checkpoints of TensorFlow among `files`, by the names that a `Saver` restores."""
        names = {_prefix(path) for path in self.files if ".data-" in path.name}
        return sorted(
            path.as_posix() for path in names & {_prefix(one) for one in self.files if one.suffix == ".index"}
        )

    def has(self, path: Path) -> bool:
        """Whether the directories have a file, copied or larger than what is copied."""
        ends = (Path(one).parts[-len(path.parts) :] for one in self.large)
        return path in self.files or path.parts in ends


def _prefix(path: Path) -> Path:
    """Return the checkpoint that a file is a part of, as a `Saver` restores it, if it is one."""
    return path.with_name(path.name.rpartition(".")[0])


def _is_part(path: Path, checkpoints: set[Path]) -> bool:
    """True for a file of one of these checkpoints, and for the file beside one that names the latest."""
    beside = path.name == "checkpoint" and any(path.parent == one.parent for one in checkpoints)
    return beside or _prefix(path) in checkpoints


def files_below(paths: Sequence[str], skip: Path, gitignore: bool) -> Rest:
    """Return the files below the directories in `paths`.

    Left out are what `migrate` leaves out of a directory, hidden files, links that lead out of it, and `skip`. Of a
    checkpoint with a large part, which no program could restore, all is left out.
    Raises MigrateError if no path is a directory.
    """
    roots = [Path(path) for path in paths if Path(path).is_dir()]
    if not roots:
        raise MigrateError(f"{', '.join(paths)}: --copy-rest copies from a directory; give one, or remove the option")
    rest = Rest()
    for root in roots:
        walker, parts = Walker(root, skip, gitignore, suffixes=("",)), set[Path]()
        for _, relative in walker.files():
            path = root / relative
            if path.name.startswith("."):
                continue
            status = path.stat()
            if status.st_size > LARGEST:
                rest.large.append(path.as_posix())
                parts |= {_prefix(Path(relative))} if ".data-" in path.name else set()
                continue
            rest.files[Path(relative)] = read_regular(path)
            if status.st_mode & stat.S_IXUSR:
                rest.executable.add(Path(relative))
        for name in [one for one in rest.files if _is_part(one, parts)]:
            rest.large.append((root / name).as_posix())
            del rest.files[name]
        rest.links += [(root / relative).as_posix() for relative, _ in walker.outside]
        shown = (relative for relative in walker.ignored if not Path(relative).name.startswith("."))
        rest.ignored += [f"{root / relative}{'/' * relative.endswith('/')}" for relative in shown]
    return rest
