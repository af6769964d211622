"""TFRecord files of `tf.train.Example`s, plain or gzipped, written without TensorFlow."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Sequence
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import NamedTuple

import numpy as np

from migrate.dataset.wire import Feature, frames
from migrate.errors import MigrateError

#: What the compressor is given at a time: always the same, so that its output does not depend on how rows came.
_CHUNK = 1 << 20
_GZIP = 31  # zlib's number for its largest window and gzip's header


class Sample(NamedTuple):
    """One row as the model reads it."""

    label: list[int]
    sparse: list[int]
    dense: list[float]


class RecordFile:
    """A TFRecord file being written; `level` 1 to 9 gzips it, 0 does not.

    Raises:
        MigrateError: (by every method) the file cannot be written, for example because the disk is full.
    """

    def __init__(self, path: Path, level: int = 0) -> None:
        self.path = path
        self._zip = zlib.compressobj(level, zlib.DEFLATED, _GZIP) if level else None
        self._waiting = bytearray()
        self._file = path.open("wb")

    def write(self, features: Sequence[Feature], start: int, stop: int) -> None:
        """Append some rows of the features."""
        for content in frames(features, start, stop):
            self._waiting += content
            whole = len(self._waiting) // _CHUNK * _CHUNK
            self._put(self._waiting[:whole])
            del self._waiting[:whole]

    def _put(self, content: bytes | bytearray) -> None:
        try:
            for at in range(0, len(content), _CHUNK):
                chunk = content[at : at + _CHUNK]
                self._file.write(self._zip.compress(chunk) if self._zip else chunk)
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> MigrateError:
        return MigrateError(
            f"cannot write {self.path.name} ({error.strerror or error}); free some space or choose another -o"
        )

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            with self._file:
                if kind is None:
                    self._put(self._waiting)
                    if self._zip:
                        self._file.write(self._zip.flush())
        except OSError as failed:
            raise self._failed(failed) from failed


def write_samples(path: Path, samples: Iterable[Sample]) -> int:
    """Write the samples to a TFRecord file and return how many there were.

    `label` and `sparse_feature` are int64, `dense_feature` is float; all samples have the same number of each.

    Raises:
        MigrateError: the file cannot be written, for example because the disk is full.
    """
    count, rows = 0, iter(samples)
    with RecordFile(path) as file:
        while batch := list(islice(rows, 4096)):
            features = [
                Feature("label", np.array([sample.label for sample in batch], np.int64)),
                Feature("sparse_feature", np.array([sample.sparse for sample in batch], np.int64)),
                Feature("dense_feature", np.array([sample.dense for sample in batch], np.float32)),
            ]
            file.write(features, 0, len(batch))
            count += len(batch)
    return count
