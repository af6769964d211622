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
        names = {path.name.rpartition(".data-")[0] for path in [*self.files, *map(Path, self.large)]}
        indices = (path.with_suffix("") for path in self.files if path.suffix == ".index")
        return sorted(path.as_posix() for path in indices if path.name in names)

    def has(self, path: Path) -> bool:
        """Whether the directories have a file, copied or larger than what is copied."""
        ends = (Path(one).parts[-len(path.parts) :] for one in self.large)
        return path in self.files or path.parts in ends


def files_below(paths: Sequence[str], skip: Path, gitignore: bool) -> Rest:
    """Return the files below the directories in `paths`.

    Left out are what `migrate` leaves out of a directory, hidden files, links that lead out of it, and `skip`.
    Raises MigrateError if no path is a directory.
    """
    roots = [Path(path) for path in paths if Path(path).is_dir()]
    if not roots:
        raise MigrateError(f"{', '.join(paths)}: --copy-rest copies from a directory; give one, or remove the option")
    rest = Rest()
    for root in roots:
        walker = Walker(root, skip, gitignore, suffixes=("",))
        for _, relative in walker.files():
            path = root / relative
            if path.name.startswith("."):
                continue
            status = path.stat()
            if status.st_size > LARGEST:
                rest.large.append(path.as_posix())
                continue
            rest.files[Path(relative)] = read_regular(path)
            if status.st_mode & stat.S_IXUSR:
                rest.executable.add(Path(relative))
        rest.links += [(root / relative).as_posix() for relative, _ in walker.outside]
        shown = (relative for relative in walker.ignored if not Path(relative).name.startswith("."))
        rest.ignored += [f"{root / relative}{'/' * relative.endswith('/')}" for relative in shown]
    return rest
