"""Decodes and encodes Python source; encoding declaration, byte-order mark and line ends are preserved."""

from __future__ import annotations

import ast
import codecs
import io
import re
import tokenize
import warnings
from dataclasses import dataclass
from pathlib import Path

from migrate.regular_files import MOST, read_regular

#: Statements that are valid only in Python 2: `print x`, `except E, e`, `exec code`, `raise E, "text"`, `x <> y`.
PYTHON2 = re.compile(
    r"^\s*(print\s+[^(=\s.\[]|print\s*$|except\s+[\w.]+\s*,\s*\w+\s*:|exec\s+[^(=\s]|raise\s+[\w.]+\s*,)|<>|\bprint\s+\(.*\)\s*%",
    re.MULTILINE,
)
#: More of these, searched only in the line where the parser fails: `print >> f`, `except (A, B), e`, `def f((a, b))`,
#: `lambda (a, b)`, `ur"x"`, `10L`, `0777` and backticks occur in the comments of Python 3 as well.
PYTHON2_LINE = re.compile(
    r"\bprint\s*>>|\bprint\s+[^(=\s.\[]|\bexec\s+[^(=\s]|\bexcept\s*\(.*\)\s*,\s*\w+\s*:|\bexcept\s.*,.*:"
    r"|\bdef\s+\w+\(.*\(.*\).*\):|\blambda\s*\(|\bur[\"']|\b\d+[lL]\b|\b0\d+\b|`[^`]+`"
)

#: What to do with a file that only Python 2 accepts. Python has no `2to3` from 3.13 on; fissix is its successor.
IS_PYTHON2 = (
    "the code is Python 2; make it Python 3 by `python -m lib2to3 -w -n FILE`, or from Python 3.13 on by "
    "`pip install fissix` and `fissix -w -n FILE`"
)
HAS_TABS = (
    "the code mixes tabs and spaces as only Python 2 allows, at line {line}; write spaces by "
    "`expand -i -t 8 FILE > NEW`, and move NEW to FILE"
)


#: Bytes of a Python file: a larger one holds data, and its syntax tree takes more than a gigabyte.
LARGEST = 5_000_000


class UnreadableSource(Exception):
    """The file is valid Python 3 but cannot be converted without changing other bytes; the message says why."""


@dataclass(frozen=True)
class SourceText:
    """A decoded file; `text` has the original line ends and no byte-order mark."""

    text: str
    encoding: str
    bom: bytes

    def encode(self, text: str) -> bytes:
        """Return `text` as bytes in the file's encoding, with its byte-order mark."""
        return self.bom + text.encode(self.encoding)


def decode(data: bytes) -> SourceText:
    """Decode a Python source file; raises SyntaxError or UnicodeDecodeError if that fails."""
    bom = codecs.BOM_UTF8 if data.startswith(codecs.BOM_UTF8) else b""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
    name = "utf-8" if bom else encoding
    return SourceText(data[len(bom) :].decode(name), name, bom)


def source_bytes(path: Path) -> bytes:
    """Return the bytes of a source file or notebook; raises OSError as `read_regular`, also for a file of data."""
    return read_regular(path, MOST if path.suffix == ".ipynb" else LARGEST)


def read_source(path: Path) -> str:
    """Return the text of a source file, without its byte-order mark.

    Raises:
        OSError, SyntaxError, UnicodeDecodeError: it cannot be read or decoded.
    """
    return decode(source_bytes(path)).text


def parsed(text: str) -> tuple[ast.Module | None, str, int]:
    """Return the syntax tree of `text`, or None, a sentence why it is not valid Python 3, and the line, from 1."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(text), "", 1
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        if isinstance(error, SyntaxError) and (PYTHON2.search(text) or PYTHON2_LINE.search(error.text or "")):
            return None, IS_PYTHON2, line or 1
        if isinstance(error, TabError):
            return None, HAS_TABS.format(line=line), line or 1
        where = f" at line {line}" if line else ""
        what = getattr(error, "msg", None) or str(error) or "it is nested too deeply"
        return None, f"the code does not parse{where}: {what}", line or 1


def syntax_problem(text: str) -> str:
    """Return a sentence why `text` is not valid Python 3, or an empty string."""
    return parsed(text)[1]


def is_python2(path: str) -> bool:
    """Return whether a file is Python 2, as far as statements show that Python 3 cannot read."""
    try:
        return syntax_problem(read_source(Path(path))) == IS_PYTHON2
    except (OSError, SyntaxError, UnicodeDecodeError):
        return False
