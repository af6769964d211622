"""Tensors of checkpoints in blocks of rows, so that memory does not grow with them: read, and written."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray
from tensorflow.core.protobuf import tensor_bundle_pb2

from runtime.checkpoint.bundle import Bundle, CheckpointError, write_bundle

#: Bytes of a tensor that are in memory at once.
BLOCK_BYTES = 1 << 25
_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_LITTLE = 0


class BlockReader:
    """Reads tensors of a checkpoint, the large ones block by block."""

    def __init__(self, bundle: Bundle) -> None:
        """Find where the tensors of `bundle` lie."""
        self.bundle = bundle
        self._places = places(bundle.path)

    def rows_at_once(self, name: str) -> int:
        """Return how many rows of a tensor are a block."""
        return rows_at_once(self.bundle.shapes[name], self.bundle.types[name])

    def blocks(self, name: str, step: int = 0) -> Iterator[NDArray[Any]]:
        """Yield the rows of a tensor [n, …] in order, `step` or `rows_at_once` at a time, and what is left.

        A tensor that is one block, or is stored in slices, is read by TensorFlow, which checks its checksum; of others
        the size is checked.

        Raises:
            CheckpointError: the checkpoint has no such tensor, or its data is damaged.
        """
        place, rows = self._places.get(name), self.bundle.shapes.get(name, [0])[:1]
        if place is None or place.size <= BLOCK_BYTES or not rows:
            whole = self.bundle.read(name)
            step = step or (self.rows_at_once(name) if rows else 1)
            yield from (whole[at : at + step] for at in range(0, len(whole), step)) if rows else [whole]
            return
        dtype, shape = np.dtype(self.bundle.types[name].as_numpy_dtype), self.bundle.shapes[name]
        width, step = math.prod(shape[1:]), step or self.rows_at_once(name)
        if place.size != width * shape[0] * dtype.itemsize:
            raise CheckpointError(f"{self.bundle.path} is damaged at the tensor `{name}`: restore another checkpoint")
        with place.file.open("rb") as file:
            file.seek(place.offset)
            for at in range(0, shape[0], step):
                count = min(step, shape[0] - at)
                data = file.read(count * width * dtype.itemsize)
                if len(data) < count * width * dtype.itemsize:
                    raise CheckpointError(
                        f"{place.file} is truncated at the tensor `{name}`: restore another checkpoint"
                    )
                yield np.frombuffer(data, dtype).reshape([count, *shape[1:]])


def rows_at_once(shape: Sequence[int], dtype: tf.DType) -> int:
    """Return how many rows of a tensor of this shape are a block."""
    return max(1, BLOCK_BYTES // max(1, math.prod(shape[1:]) * int(dtype.size)))


class BlockWriter:
    """Writes a checkpoint from blocks; its index file appears last and complete, when the `with` block ends."""

    def __init__(self, path: str | Path) -> None:
        """Prepare to write the checkpoint with the prefix `path`, in an existing folder."""
        #: The prefix of the checkpoint.
        self.path = str(path)
        self._parts: list[str] = []
        self._small: dict[str, Any] = {}

    def __enter__(self) -> BlockWriter:
        """Return the writer."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Write what is left and join all parts, or remove them after an exception."""
        if kind is None:
            self._write(self._small, [""] * len(self._small))
            with tf.Graph().as_default(), tf.compat.v1.Session() as session:
                session.run(
                    tf.raw_ops.MergeV2Checkpoints(checkpoint_prefixes=self._parts, destination_prefix=self.path)
                )
        for part in self._parts:
            for file in Path(part).parent.glob(Path(part).name + ".*"):
                file.unlink()

    def add(self, name: str, value: Any) -> None:
        """Write a whole tensor."""
        array = np.asarray(value)
        self._small[name] = array
        if sum(one.nbytes for one in self._small.values()) > BLOCK_BYTES:
            self._write(self._small, [""] * len(self._small))
            self._small = {}

    def add_blocks(self, name: str, shape: Sequence[int], blocks: Iterable[Any]) -> None:
        """Write a tensor [n, …] of this shape from its blocks of rows, in order; each goes to disk at once."""
        sizes, at, rest = " ".join(map(str, shape)), 0, ":-" * (len(shape) - 1)
        for block in blocks:
            if len(block) == shape[0]:
                self.add(name, block)
            else:
                self._write({name: block}, [f"{sizes} {at},{len(block)}{rest}"])
            at += len(block)
        if at == 0:
            raise ValueError(f"`{name}` has no block")

    def copy(self, reader: BlockReader, source: str, name: str) -> None:
        """Write the tensor `source` of another checkpoint under the name `name`."""
        shape = reader.bundle.shapes.get(source)
        if not shape or shape[0] <= reader.rows_at_once(source):
            self.add(name, reader.bundle.read(source))
        else:
            self.add_blocks(name, shape, reader.blocks(source))

    def _write(self, tensors: dict[str, Any], slices: list[str]) -> None:
        if not tensors and self._parts:
            return
        part = f"{self.path}-part-{len(self._parts)}"
        self._parts.append(part)
        write_bundle(part, tensors, slices)


class _Place(NamedTuple):
    """A tensor's bytes: data file, offset and size."""

    file: Path
    offset: int
    size: int


def places(prefix: str) -> dict[str, _Place]:
    """Return the place of each tensor of the checkpoint `prefix` that is stored in one piece, in this machine's order.

    The index is a table in LevelDB's format. TensorFlow's own reader takes a whole tensor into memory; with its place
    in a file, it can be read in blocks. Where the index is compressed or damaged, nothing is returned, and TensorFlow's
    reader has to be asked.
    """
    try:
        return _places(prefix, Path(prefix + ".index").read_bytes())
    except (ValueError, IndexError):
        return {}


def _places(prefix: str, data: bytes) -> dict[str, _Place]:
    if int.from_bytes(data[-8:], "little") != _MAGIC:
        raise ValueError("not a table")
    _, at = _block_handle(data, len(data) - _FOOTER)  # of the meta index
    (offset, size), _ = _block_handle(data, at)
    places: dict[str, _Place] = {}
    header = tensor_bundle_pb2.BundleHeaderProto()
    for _, where in _entries(data, offset, size):
        (inner, length), _ = _block_handle(where, 0)
        for key, value in _entries(data, inner, length):
            if not key:
                header.ParseFromString(value)
                continue
            entry = tensor_bundle_pb2.BundleEntryProto.FromString(value)
            if not entry.slices:
                file = Path(f"{prefix}.data-{entry.shard_id:05d}-of-{header.num_shards:05d}")
                places[key.decode(errors="surrogateescape")] = _Place(file, entry.offset, entry.size)
    return places if header.endianness == _LITTLE else {}


def _block_handle(data: bytes, at: int) -> tuple[tuple[int, int], int]:
    offset, at = _number(data, at)
    size, at = _number(data, at)
    return (offset, size), at


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of seven bits a byte, and where it ends."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def _entries(data: bytes, offset: int, size: int) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each entry of a block; a key begins as the one before it does."""
    if data[offset + size] != 0:
        raise ValueError("compressed")
    restarts = int.from_bytes(data[offset + size - 4 : offset + size], "little")
    at, end, key = offset, offset + size - 4 * (restarts + 1), b""
    while at < end:
        shared, at = _number(data, at)
        own, at = _number(data, at)
        length, at = _number(data, at)
        key = key[:shared] + data[at : at + own]
        yield key, data[at + own : at + own + length]
        at += own + length
