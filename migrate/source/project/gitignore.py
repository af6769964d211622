"""Finds files that git ignores, by `.gitignore` files of all levels and `.git/info/exclude`, without running git."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec

from migrate.regular_files import read_regular, read_regular_text

BOM = b"\xef\xbb\xbf"


@dataclass(frozen=True)
class Ignore:
    """The rules of one directory: its own and those of its parents."""

    #: (directory that patterns are relative to, patterns), outermost first
    rules: tuple[tuple[str, GitIgnoreSpec], ...] = ()

    @classmethod
    def at(cls, root: str) -> Ignore:
        """Return the rules that the repository around `root` (an absolute path) has for it, with `root`'s own.

        A directory that the user names is worked on even when it is ignored itself: then nothing above it counts.
        """
        top = _repository(root)
        if top is None:
            return cls().inside(root)
        ignored = cls(tuple(_spec(top, _excluded(top))))
        for directory in _between(top, root):
            if directory != top and ignored.ignores(directory, is_directory=True):
                ignored = cls()
            ignored = ignored.inside(directory)
        return ignored

    def inside(self, directory: str) -> Ignore:
        """Return the rules inside a directory (an absolute path) that these rules hold for."""
        own = tuple(_spec(directory, Path(directory, ".gitignore")))
        return Ignore(self.rules + own) if own else self

    def ignores(self, path: str, is_directory: bool) -> bool:
        """True if git ignores `path` (absolute); the nearest rule decides."""
        for base, spec in reversed(self.rules):
            name = path[len(base.rstrip("/")) + 1 :] + ("/" if is_directory else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False


def _repository(path: str) -> str | None:
    """Return `path` or the nearest parent with `.git`, or None."""
    while not os.path.lexists(f"{path}/.git"):
        above = os.path.dirname(path)  # noqa: PTH120 - strings are faster than paths in a walk
        if above == path:
            return None
        path = above
    return path


def _between(top: str, path: str) -> Iterator[str]:
    """Yield `top`, the directories between it and `path`, and `path`."""
    yield top
    for part in Path(path).relative_to(top).parts:
        top = f"{top.rstrip('/')}/{part}"
        yield top


def _excluded(top: str) -> Path:
    """Return the path of `info/exclude`; in a linked worktree, `.git` is a file with the path of the repository."""
    git = Path(top, ".git")
    if git.is_file():
        try:
            git = Path(top, read_regular_text(git).removeprefix("gitdir:").strip())
            git = git / read_regular_text(git / "commondir").strip()
        except (OSError, UnicodeDecodeError):
            pass
    return git / "info" / "exclude"


def _spec(base: str, path: Path) -> Iterator[tuple[str, GitIgnoreSpec]]:
    """Yield the patterns of a file, if it has any; like git, skip invalid patterns."""
    try:
        lines = read_regular(path).removeprefix(BOM).decode("utf-8", "surrogateescape").splitlines()
    except OSError:
        return
    patterns = [line for line in lines if line.strip() and not line.startswith("#") and _sensible(line)]
    if patterns:
        yield base, GitIgnoreSpec.from_lines(patterns)


def _sensible(line: str) -> bool:
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
