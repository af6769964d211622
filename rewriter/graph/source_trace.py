"""Finds the line of user code that built an op of a live graph.

Graphs in files do not have it: a SavedModel with `save_debug_info` only has the lines of ops in functions, which a plan
does not change.
"""

from __future__ import annotations

import functools
import os
import re
import sysconfig
import traceback
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import tensorflow as tf

# Modules between the user's line and the op: libraries that user code calls.
_LIBRARIES = re.compile(
    r"/(site|dist)-packages/(tensorflow|tensorflow_estimator|keras|tf_keras|tf_slim|wrapt|absl)(/|$)"
    r"|/lib(64)?/python[\d.]+/(?!(site|dist)-packages/)"
    r"|__autograph_generated_file"
    r"|^<(frozen |__array_function__)"
)
_HERE = Path(__file__).parents[2]
_FOLDERS = tuple(
    f"{folder.resolve()}/"
    for folder in (_HERE / "rewriter", _HERE / "runtime", _HERE / "migrate", Path(tf.__file__).parent)
)
#: File name of generated code: wrappers of an op library, or `python -c`, which counts as user code if all is of it.
_GENERATED = "<string>"
_PYTHON = f"{sysconfig.get_path('stdlib')}/"


class _Frame(NamedTuple):
    file: str
    line: int
    function: str


def source_of(op: tf.Operation) -> str | None:
    """Return the user's line that built an op of a live graph, such as `model.py:123 in build_model`.

    It is the innermost frame outside of TensorFlow, Keras, this package and Python's library; the path is relative if
    the file is below the working directory. None for an op that was imported or that no user code built.
    """
    stack = op.traceback
    return None if stack is None else _users_line(_Frame(f.filename, f.lineno, f.name) for f in _inwards(stack))


def line_here() -> str | None:
    """Return the user's line that is running, in the form of `source_of`."""
    stack = traceback.extract_stack()
    return _users_line(_Frame(one.filename, one.lineno or 0, one.name) for one in reversed(stack))


def sources_of(graph: tf.Graph, ops: Iterable[str]) -> dict[str, str]:
    """Return `source_of` for the named ops; ops without a line, or not in the graph, are left out."""
    sources: dict[str, str] = {}
    for name in dict.fromkeys(ops):
        try:
            source = source_of(graph.get_operation_by_name(name))
        except KeyError:
            continue
        if source:
            sources[name] = source
    return sources


def _inwards(stack: Any) -> Iterator[Any]:
    """Walk the frames from the innermost, because the search mostly ends early."""
    return (stack[number] for number in range(len(stack) - 1, -1, -1))


def _users_line(frames: Iterable[_Frame]) -> str | None:
    generated = None
    for frame in frames:
        if not _is_users(frame.file):
            continue
        if frame.file != _GENERATED:
            return _line(frame)
        generated = generated or frame
    return _line(generated) if generated else None


def _line(frame: _Frame) -> str:
    place = f"{_relative(frame.file)}:{frame.line}"
    return place if frame.function in ("", "<module>") else f"{place} in {frame.function}"


@functools.lru_cache(maxsize=4096)
def _is_users(file: str) -> bool:
    if _LIBRARIES.search(file):
        return False
    if file.startswith(_PYTHON) and "-packages" not in file:
        return False
    return file.startswith("<") or not os.path.realpath(file).startswith(_FOLDERS)


def _relative(file: str) -> str:
    return Path(file.removeprefix(f"{Path.cwd()}/")).as_posix()
