"""Results kept between runs: a file with the same bytes, path and options needs no second conversion.

An entry's name is a digest of everything that the result depends on: the bytes, the path that findings name, the texts
beside the file that a frontend may read, `repr` of the options (so every option's `repr` must hold its content, not
the name of a file that has it), and the installed version of this program down to the dates of its files.
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
from migrate.source.settings.environment_key import has_keras_3
from migrate.source.settings.options import Options

LIMIT = 200 * 1024 * 1024  #: bytes on disk; beyond them the entries go that were not used for longest
TAG = "Signature: 8a477f597d28d172789f06886806bc55\n# Results of migrate convert; safe to delete.\n"


def default_directory() -> Path | None:
    """Return `$XDG_CACHE_HOME/recmigrate`, usually `~/.cache/recmigrate`; None for a user without a home."""
    given = os.environ.get("XDG_CACHE_HOME", "")
    if Path(given).is_absolute():
        return Path(given, "recmigrate")
    try:
        return Path.home() / ".cache" / "recmigrate"
    except RuntimeError:
        return None


@dataclass
class Cache:
    """A directory of results. Whatever is wrong with it (damaged, read-only, full), the run goes on without."""

    directory: Path
    limit: int = LIMIT
    added: int = 0

    def get(self, key: str) -> tuple[SourceResult, bytes | None] | None:
        """Return the result kept under `key` and the bytes to write (None: unchanged), or None."""
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
        """Keep a result; other runs see it whole or not at all."""
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
        """Delete what was not used for longest when the directory has outgrown its limit."""
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
    """Reads plain data and this program's own data classes, nothing that could run code."""

    def find_class(self, module: str, name: str) -> Any:
        found = super().find_class(module, name) if module.startswith(("migrate.", "rewriter.")) else None
        if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum)):
            return found
        raise pickle.UnpicklingError(f"{module}.{name}")


def key_of(path: str, data: bytes, options: Options, siblings: Mapping[str, str]) -> str:
    """Return the name under which the result for this input is kept."""
    digest = hashlib.sha256(_installation())
    for part in (repr(options), path, repr(sorted(siblings.items()))):
        encoded = part.encode(errors="surrogatepass")
        digest.update(b"%d:" % len(encoded) + encoded)
    digest.update(data)
    return digest.hexdigest()


@cache
def _installation() -> bytes:
    """Return what tells this program from another version of itself, and from one that is being edited."""
    libcst = find_spec("libcst")
    files = sorted(Path(__file__).parents[2].rglob("*.py"))
    files += [Path(libcst.origin)] if libcst and libcst.origin else []
    stamps = [(str(path), status.st_size, status.st_mtime_ns) for path in files for status in [path.stat()]]
    return repr((__version__, sys.version, has_keras_3(), stamps)).encode()
