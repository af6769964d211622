"""Caches results between runs: a file with the same bytes, path and options is not converted again.

An entry's name is a digest of everything that the result depends on: the bytes of the file, its path in findings, the
texts beside it that a front end may read, the `repr` of the options (so that an option that is read from a file must
have the file's contents in its `repr`), and the installed version of this program, with the dates of its files.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import os
import pickle
import sys
import tempfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, is_dataclass
from enum import Enum
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from migrate import __version__
from migrate.source.files.conversion_result import SourceResult
from migrate.source.settings.options import Options

LIMIT = 200 * 1024 * 1024  #: bytes on disk, above which the least recently used entries are deleted
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of migrate convert; safe to delete.\n"


def default_directory() -> Path | None:
    """Return `$XDG_CACHE_HOME/recmigrate`, usually `~/.cache/recmigrate`; None for a user without a home."""
    configured = os.environ.get("XDG_CACHE_HOME", "")
    if Path(configured).is_absolute():
        return Path(configured, "recmigrate")
    try:
        return Path.home() / ".cache" / "recmigrate"
    except RuntimeError:
        return None


@dataclass
class Cache:
    """A directory of cached results. If it is damaged, read-only or full, the run continues without it."""

    directory: Path
    limit: int = LIMIT
    added: int = 0

    def get(self, key: str) -> tuple[SourceResult, bytes | None] | None:
        """Return the result cached under `key` and the bytes to write (None: unchanged); None if there is no entry."""
        path = self._path(key)
        try:
            digest, _, packed = path.read_bytes().partition(b"\n")
            if digest != hashlib.sha256(packed).hexdigest().encode():
                return None
            result, data = _Reader(io.BytesIO(zlib.decompress(packed))).load()
            os.utime(path)
        except (OSError, zlib.error, pickle.UnpicklingError, ValueError, TypeError, EOFError, AttributeError):
            return None
        return result, data

    def put(self, key: str, result: SourceResult, data: bytes | None) -> None:
        """Store a result atomically."""
        packed = zlib.compress(pickle.dumps((result, data), protocol=5), 1)
        path = self._path(key)
        try:
            if not self.directory.is_dir():
                self._make()
            path.parent.mkdir(exist_ok=True)
            handle, name = tempfile.mkstemp(dir=path.parent, suffix=".tmp")
            try:
                with os.fdopen(handle, "wb") as stream:
                    stream.write(hashlib.sha256(packed).hexdigest().encode() + b"\n" + packed)
                Path(name).replace(path)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
        except OSError:
            return
        self.added += 1

    def prune(self) -> None:
        """Delete the least recently used entries if the directory exceeds its limit."""
        if not self.added:
            return
        entries = []
        for path in self.directory.glob("??/*"):
            with contextlib.suppress(OSError):  # another run may delete it at the same time
                status = path.stat()
                entries.append((status.st_mtime_ns, status.st_size, path))
        total = sum(size for _, size, _ in entries)
        for _, size, path in sorted(entries) if total > self.limit else []:
            if total <= self.limit * 0.8:
                break
            with contextlib.suppress(OSError):
                path.unlink()
            total -= size

    def _path(self, key: str) -> Path:
        return self.directory / key[:2] / key[2:]

    def _make(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True, mode=0o700)
        (self.directory / "CACHEDIR.TAG").write_text(TAG, encoding="ascii")
        (self.directory / ".gitignore").write_text("*\n", encoding="ascii")


class _Reader(pickle.Unpickler):
    """Unpickles only plain data and this program's data classes, so that a cache entry cannot run code."""

    def find_class(self, module: str, name: str) -> Any:
        known = super().find_class(module, name) if module.startswith(("migrate.", "rewriter.")) else None
        if isinstance(known, type) and (is_dataclass(known) or issubclass(known, Enum)):
            return known
        raise pickle.UnpicklingError(f"{module}.{name}")


def key_of(path: str, data: bytes, options: Options, siblings: Mapping[str, str]) -> str:
    """Return the name under which the result for this input is cached."""
    digest = hashlib.sha256(_installation())
    for part in (repr(options), path, repr(sorted(siblings.items()))):
        encoded = part.encode(errors="surrogatepass")
        digest.update(b"%d:" % len(encoded) + encoded)
    digest.update(data)
    return digest.hexdigest()


@cache
def _installation() -> bytes:
    """Return a stamp of the installed program, which changes with its version and with edits of its files."""
    libcst = find_spec("libcst")
    files = sorted(Path(__file__).parents[2].rglob("*.py"))
    files += [Path(libcst.origin)] if libcst and libcst.origin else []
    stamps = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in [path.stat()]]
    return repr((__version__, sys.version, stamps)).encode()
