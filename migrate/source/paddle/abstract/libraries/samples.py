"""OpenCV's pictures, whose pixels are 0, and NLTK's words, as far as the shapes of a batch depend on them.

Where a text is cut differs in details from NLTK's: only the number of its words counts, which varies as it is.
"""

from __future__ import annotations

import re
import struct

import numpy as np

from migrate.source.paddle.abstract.data_files import DataFiles
from migrate.source.paddle.abstract.values import Refuse, Value

_PNG = b"\x89PNG\r\n\x1a\n"
_MAX_SIDE = 4_096  #: pixels
_GREY, _COLOURS = 0, 1  #: `IMREAD_GRAYSCALE`, `IMREAD_COLOR`


def imread(data: DataFiles, path: Value, flags: int = _COLOURS) -> Value:
    """Return a PNG picture of zeros: [height, width, 3], or [height, width] in greys."""
    head = data.content(path, cut=False)[:24]
    if not head.startswith(_PNG) or len(head) < 24 or flags not in {_GREY, _COLOURS}:
        raise Refuse(f"`{path}` is read in a way that is not supported; pictures are PNG, in three colours or greys")
    width, height = struct.unpack(">II", head[16:])
    return np.zeros((_side(height), _side(width), *((3,) if flags else ())), np.uint8)


def resize(picture: Value, size: Value, **options: Value) -> Value:
    """Return a picture of (width, height) pixels."""
    if not isinstance(picture, np.ndarray) or not isinstance(size, (tuple, list)) or len(size) != 2:
        raise Refuse("a picture is resized to (width, height) only")
    return np.zeros((_side(size[1]), _side(size[0]), *picture.shape[2:]), picture.dtype)


def _side(size: Value) -> int:
    if not isinstance(size, int) or not 0 < size <= _MAX_SIDE:
        raise Refuse(f"a picture of {size} pixels on a side is not supported")
    return size


_WORD = re.compile(r"\w+|[^\w\s]")


def word_tokenize(text: str, language: str = "english", preserve_line: bool = False) -> list[str]:
    """Return the words and marks of a text."""
    return _WORD.findall(text)
