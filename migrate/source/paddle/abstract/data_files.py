"""Files that an executed program reads: those of the model's folder, under the path `/model`, up to a bound.

Nothing is written: files that the program opens for writing take its text and drop it.
"""

from __future__ import annotations

import fnmatch
import gzip
import io
import posixpath
import stat
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

from migrate.source.paddle.abstract.values import Refuse, Value

FOLDER = "/model"  #: the model's folder, as the program sees it
MAX_SAMPLE = 2**18  #: bytes read of a text file of the sample data; it is cut after its last whole line
MAX_FILE = 4_000_000  #: bytes of a file that is read as a whole
MAX_TOTAL = 32_000_000  #: bytes read by one execution
MAX_NAMES = 1_000  #: entries of a folder that are listed


class Sink(io.StringIO):
    """A file that is opened for writing."""

    def write(self, text: Value) -> int:
        """Drop a text."""
        return len(text)


class DataFiles:
    """The files below a folder.

    Args:
        folder: the model's folder.
        samples: the folder of the sample data, relative to it; longer text files in it are cut.
    """

    def __init__(self, folder: Path, samples: str = "") -> None:
        self._root = folder.resolve()
        self._samples = self.absolute(samples)
        self._read = 0

    @staticmethod
    def absolute(path: Value) -> str:
        """Return the path that the program sees, without `..`; relative paths start in the model's folder."""
        if not isinstance(path, str):
            raise TypeError(f"a path is {type(path).__name__}, not a string")
        return posixpath.normpath(posixpath.join(FOLDER, path))

    def _real(self, path: Value) -> Path:
        """Return the path on this machine; raises `Refuse` if it is outside of the folder."""
        name = self.absolute(path)
        if name != FOLDER and not name.startswith(FOLDER + "/"):
            raise Refuse(f"`{path}` is outside of the model's folder; only files of the folder are read")
        real = (self._root / posixpath.relpath(name, FOLDER)).resolve()
        if not real.is_relative_to(self._root):
            raise Refuse(f"`{path}` is a link out of the model's folder; only files of the folder are read")
        return real

    def names(self, path: Value) -> list[str]:
        """Return the sorted names of a folder's entries, at most `MAX_NAMES`."""
        real = self._real(path)
        if not real.is_dir():
            raise FileNotFoundError(f"there is no folder `{path}`")
        return sorted(item.name for item in real.iterdir())[:MAX_NAMES]

    def glob(self, pattern: str) -> list[str]:
        """Return the files whose last part matches."""
        folder, last = posixpath.split(pattern)
        return [posixpath.join(folder, name) for name in self.names(folder or ".") if fnmatch.fnmatch(name, last)]

    def asks(self, question: str) -> Callable[[Value], bool]:
        """Return the function that asks a path by a method such as `is_file`; nothing is outside of the folder."""

        def ask(path: Value) -> bool:
            try:
                return bool(getattr(self._real(path), question)())
            except Refuse:
                return False

        return ask

    def size(self, path: Value) -> int:
        """Return the size of a file in bytes."""
        return self._real(path).stat().st_size

    def content(self, path: Value, cut: bool, packed: bool = False) -> bytes:
        """Return the bytes of a file, or of what it packs; a sample that may be cut ends after its last whole line."""
        real = self._real(path)
        if not real.exists() or not stat.S_ISREG(real.stat().st_mode):
            raise FileNotFoundError(f"there is no file `{path}`")
        cut = cut and self.absolute(path).startswith(self._samples + "/")
        limit = MAX_SAMPLE if cut else MAX_FILE
        with gzip.open(real) if packed else real.open("rb") as file:
            try:
                content: bytes = file.read(limit + 1)
            except zlib.error as error:
                raise OSError(f"`{path}` is damaged ({error})") from error
        if len(content) > limit:
            if not cut:
                raise Refuse(f"`{path}` has more than {limit} bytes")
            content = content[: content.rfind(b"\n", 0, limit) + 1]
        self._read += len(content)
        if self._read > MAX_TOTAL:
            raise Refuse(f"the program reads more than {MAX_TOTAL} bytes")
        return content

    def open(
        self,
        file: Value,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.IOBase:
        """Open a file as Python's `open` does, without changing anything."""
        if set(mode) & set("wax+"):
            self._real(file)
            return Sink()
        if "b" in mode:
            return io.BytesIO(self.content(file, cut=False))
        return _text(self.content(file, cut=True), encoding, errors, newline)

    def open_packed(
        self,
        filename: Value,
        mode: str = "rb",
        compresslevel: int = 9,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> io.IOBase:
        """Open a file as `gzip.open` does, which reads bytes unless the mode says text."""
        if set(mode) & set("wax"):
            self._real(filename)
            return Sink()
        content = self.content(filename, cut="t" in mode, packed=True)
        return _text(content, encoding, errors, newline) if "t" in mode else io.BytesIO(content)

    def load(self, file: Value, **options: Value) -> Value:
        """Read a `.npy` file, whose header must not claim more than the file holds."""
        content = self.content(file, cut=False)
        stream = io.BytesIO(content)
        header: Value = np.lib.format
        if header.read_magic(stream) != (1, 0):
            raise Refuse("this version of NumPy's files is not supported")
        shape, _, dtype = header.read_array_header_1_0(stream)
        if dtype.hasobject or int(np.prod(shape, dtype=object)) * dtype.itemsize > len(content):
            raise Refuse(f"`{file}` does not hold a plain array")
        return np.load(io.BytesIO(content), allow_pickle=False)

    def loadtxt(self, file: Value, *arguments: Value, **options: Value) -> Value:
        """Read a table of numbers."""
        return np.loadtxt(self.open(file) if isinstance(file, str) else file, *arguments, **options)


def _text(content: bytes, encoding: str | None, errors: str | None, newline: str | None) -> io.StringIO:
    text = content.decode(_encoding(encoding), errors or "strict")
    lines = text if newline is not None else text.replace("\r\n", "\n").replace("\r", "\n")
    return io.StringIO(lines, newline="\n" if newline is None else newline)


def _encoding(name: str | None) -> str:
    known = (name or "utf-8").lower().replace("_", "-")
    if known not in {"utf-8", "utf8", "utf-8-sig", "ascii", "latin-1", "latin1", "iso-8859-1", "gbk", "gb18030"}:
        raise Refuse(f"encoding `{name}` is not supported")
    return known
