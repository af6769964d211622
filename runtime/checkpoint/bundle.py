"""Reads TensorFlow's checkpoint files ("bundles") without a graph; every error names the file at fault."""

from __future__ import annotations

import contextlib
import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from runtime import _tf_private

_as_stored: ContextVar[bool] = ContextVar("as_stored", default=False)


class CheckpointError(ValueError):
    """A checkpoint is missing or damaged, or lacks what was requested; the message names the file or tensor."""


def is_read_as_stored() -> bool:
    """Whether readers answer by what is in their files, not with variables in the place of tables."""
    return _as_stored.get()


@contextlib.contextmanager
def read_as_stored() -> Iterator[None]:
    """Let readers answer by what is in their files."""
    before = _as_stored.set(True)
    try:
        yield
    finally:
        _as_stored.reset(before)


class Bundle:
    """One checkpoint: tensors by name."""

    def __init__(self, path: str | Path) -> None:
        """Open the checkpoint with prefix `path`, or the latest one of a directory.

        Raises:
            CheckpointError: there is no checkpoint, or its index is damaged.
        """
        self.path = _prefix(path)
        index = self.path + ".index"
        if not Path(index).exists():
            raise CheckpointError(f"{index} does not exist: give the prefix of a checkpoint, as Saver.save returns it")
        try:
            with read_as_stored():
                self._reader: Any = tf.train.load_checkpoint(self.path)
                self.shapes: dict[str, list[int]] = self._reader.get_variable_to_shape_map()
                self.types: dict[str, tf.DType] = self._reader.get_variable_to_dtype_map()
        except (tf.errors.OpError, IndexError) as error:
            raise _damaged(index, error) from error

    def __contains__(self, name: object) -> bool:
        return name in self.shapes

    def read(self, name: str) -> NDArray[Any]:
        """Return one tensor.

        Raises:
            CheckpointError: the name is unknown (the message lists similar ones), or the data is damaged.
        """
        if name not in self.shapes:
            raise CheckpointError(f"{self.path} holds no tensor `{name}`: {self.near(name)}")
        try:
            with read_as_stored():
                return np.asarray(self._reader.get_tensor(name))
        except (tf.errors.OpError, IndexError) as error:
            raise _damaged(self._data_file(str(error)), error, f" at the tensor `{name}`") from error

    def near(self, name: str) -> str:
        """Return text that lists the tensors with a name similar to `name`."""
        known = [other for other in self.shapes if other != _tf_private.OBJECT_GRAPH_KEY]
        near = difflib.get_close_matches(name, known, 5, 0.5)
        near += [other for other in sorted(known) if name in other and other not in near][: 5 - len(near)]
        return f"similar names: {', '.join(near)}" if near else f"it holds {', '.join(sorted(known)[:10]) or 'nothing'}"

    def _data_file(self, message: str) -> str:
        """Find the data file that TensorFlow's message is about; it names the shard, the file, or neither."""
        files = sorted(str(file) for file in Path(self.path).parent.glob(Path(self.path).name + ".data-*"))
        shard = re.search(r"shard (\d+) ", message)
        named = [file for file in files if shard and f".data-{int(shard[1]):05d}-of-" in file]
        missing = re.search(r"(\S+\.data-\d+-of-\d+); No such", message)
        return missing[1] if missing else " or ".join(named or files) or self.path + ".data-*"


def read_all(path: str | Path) -> None:
    """Read every tensor of a checkpoint, one at a time, and verify checksums.

    Raises:
        CheckpointError: a file is missing, truncated or changed; the message names it.
    """
    bundle = Bundle(path)
    for name in bundle.shapes:
        bundle.read(name)


def write_bundle(path: str | Path, tensors: Mapping[str, Any], slices: Sequence[str] | None = None) -> None:
    """Write arrays as a checkpoint with prefix `path`; its index file appears last and complete.

    `slices` says for each array which part of its tensor it is, in the words of `SaveV2`; an empty text is all of it.
    """
    with tf.Graph().as_default(), tf.device("/device:CPU:0"):
        arrays = [np.asarray(array) for array in tensors.values()]
        fed = [tf.compat.v1.placeholder(array.dtype, array.shape) for array in arrays]
        save = tf.raw_ops.SaveV2(
            prefix=str(path), tensor_names=list(tensors), shape_and_slices=slices or [""] * len(fed), tensors=fed
        )
        with tf.compat.v1.Session() as session:
            session.run(save, dict(zip(fed, arrays, strict=True)))


def _prefix(path: str | Path) -> str:
    if Path(path).is_dir():
        latest = tf.train.latest_checkpoint(str(path))
        if latest is None:
            raise CheckpointError(f"{path} holds no checkpoint: give the prefix of one, as Saver.save returns it")
        return str(latest)
    return str(path).removesuffix(".index")


def _damaged(file: str, error: Exception, where: str = "") -> CheckpointError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    return CheckpointError(
        f"{file} is damaged{where} ({text}): restore another checkpoint; runtime.checkpoint.latest_complete(directory) "
        "finds the newest complete one"
    )
