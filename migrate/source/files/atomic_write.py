"""Writes results atomically, without overwriting files that migrate did not write; also makes unified diffs."""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import json
import os
import signal
import stat
import tempfile
import threading
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from migrate.errors import MigrateError
from migrate.regular_files import read_regular, read_regular_text
from migrate.scratch import marked, remove_leftovers
from migrate.source.files.path_lookup import printable
from migrate.source.files.staying_inside import check_inside

MANIFEST = ".recmigrate.json"


def check_writable(path: Path) -> None:
    """Raise MigrateError if `path` cannot be written; called before the first of several files is written."""
    target = Path(os.path.realpath(path))
    directory = next(parent for parent in target.parents if parent.exists())
    if target.is_dir():
        raise MigrateError(f"{path}: is a directory; give a file")
    if not directory.is_dir():
        raise MigrateError(f"{path}: cannot be written ({directory} is not a directory); choose another path")
    if not os.access(directory, os.W_OK | os.X_OK) or (target.exists() and not os.access(target, os.W_OK)):
        raise MigrateError(f"{path}: cannot be written (Permission denied); choose another path")


def write_atomically(path: Path, data: bytes) -> None:
    """Write `data` to `path` atomically: a reader sees the old or the new file. The mode bits are kept.

    A symbolic link is followed, not replaced. Raises MigrateError if the path cannot be written.
    """
    write_files({path: data})


def write_files(files: Mapping[Path, bytes], executable: Collection[Path] = ()) -> None:
    """Write several files, each as `write_atomically`: first all temporary files, then all renames.

    Those in `executable` may be run by whoever may read them.

    If writing the temporary files fails (a full disk, Ctrl-C, SIGTERM, SIGHUP), no file changes; these signals are
    deferred during the renames. Temporary files that a killed process left in these directories are removed.
    """
    for directory in {Path(os.path.realpath(path)).parent for path in files}:
        remove_leftovers(directory)
    staged: list[tuple[Path, Path, Path]] = []
    try:
        for path, data in files.items():
            _stage(path, data, staged, path in executable)
        with uninterrupted():
            for path, name, target in staged:
                with _refusal(path):
                    name.replace(target)
    finally:
        for _, name, _ in staged:
            with contextlib.suppress(OSError):
                name.unlink()


def _stage(path: Path, data: bytes, staged: list[tuple[Path, Path, Path]], executable: bool) -> None:
    """Write `data` to a temporary file in the directory of `path`; append it to `staged` before it is filled."""
    target = Path(os.path.realpath(path))
    with _refusal(path):
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists() and not os.access(target, os.W_OK):
            raise PermissionError(13, "Permission denied")
        with uninterrupted():
            prefix = marked(target.name)
            handle, name = tempfile.mkstemp(prefix=prefix, suffix=".tmp", dir=target.parent)
            staged.append((path, Path(name), target))
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
        mode = stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o666 & ~_umask()
        Path(name).chmod(mode | (mode & 0o444) >> 2 if executable else mode)


@contextlib.contextmanager
def _refusal(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise MigrateError(f"{path}: cannot be written ({error.strerror}); choose another output with -o") from error


@contextlib.contextmanager
def uninterrupted() -> Iterator[None]:
    """Defer Ctrl-C, SIGTERM and SIGHUP until the block is done.

    Does nothing outside the main thread, which alone gets them.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    numbers = [n for n in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(n) is not signal.SIG_IGN]
    before = [signal.signal(number, lambda number, _: pending.append(number)) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)
        if pending:
            signal.raise_signal(pending[0])


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def unified_diff(path: str, before: str, after: str) -> str:
    """Return the change as a unified diff with `a/` and `b/` names; empty if nothing changed."""
    if before == after:  # faster than difflib, which would compare all lines
        return ""
    name = printable(path)
    lines = difflib.unified_diff(lines_of(before), lines_of(after), f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else line + "\n\\ No newline at end of file\n" for line in lines)


def lines_of(text: str) -> list[str]:
    """Split at line feeds only, as `patch` and diffs do."""
    parts = text.split("\n")
    return [part + "\n" for part in parts[:-1]] + ([parts[-1]] if parts[-1] else [])


class OutputDirectory:
    """A directory of converted files, with a manifest of the files that migrate wrote."""

    def __init__(self, root: Path, force: bool) -> None:
        self.root = root
        self.force = force
        check_inside(root, root / MANIFEST)
        self._written: dict[str, str] = read_manifest(root / MANIFEST)

    def check(self, files: Mapping[Path, bytes]) -> None:
        """Raise MigrateError if a file exists that migrate did not write, that was edited since, or lies elsewhere."""
        for relative, data in files.items():
            path = self.root / relative
            check_inside(self.root, path)
            if self.force or not path.exists():
                continue
            if path.is_dir():
                raise MigrateError(f"{path}: is a directory; choose another output with -o")
            # A file of an interrupted run is not in the manifest, but has the same contents.
            if _digest_of(path) not in {self._written.get(relative.as_posix()), _digest(data)}:
                known = (
                    "was edited since it was written"
                    if relative.as_posix() in self._written
                    else "was not written by migrate"
                )
                raise MigrateError(f"{path}: {known}; move it away or use --force")
        for relative in files:
            check_writable(self.root / relative)

    def write(self, files: Mapping[Path, bytes], executable: Collection[Path] = ()) -> None:
        """Write the files, then the manifest; raises MigrateError as `check`, before anything is written.

        `executable`: those that may be run.
        """
        self.check(files)
        if not files:
            return
        self._written |= {relative.as_posix(): _digest(data) for relative, data in files.items()}
        text = json.dumps({"written": dict(sorted(self._written.items()))}, indent=1) + "\n"
        contents = {self.root / relative: data for relative, data in files.items()}
        write_files(
            {**contents, self.root / MANIFEST: text.encode()}, {self.root / relative for relative in executable}
        )


def _digest_of(path: Path) -> str:
    try:
        return _digest(read_regular(path))
    except OSError as error:
        raise MigrateError(f"{path}: cannot be read ({error.strerror}); move it away") from error


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_as_written(path: Path, digest: str | None) -> bool:
    """Say if a file still has the contents whose digest a manifest has; False where it cannot be read."""
    try:
        return digest is not None and _digest(read_regular(path)) == digest
    except OSError:
        return False


def read_manifest(path: Path) -> dict[str, str]:
    """Return path -> digest of the files that were written to the directory of a manifest; empty if it has none."""
    try:
        names = json.loads(read_regular_text(path))["written"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return {}
    return {str(key): str(value) for key, value in names.items()} if isinstance(names, dict) else {}
