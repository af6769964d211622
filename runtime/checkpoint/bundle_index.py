"""Where the tensors of a checkpoint lie in its data files, read from its index, a table in LevelDB's format.

TensorFlow's own reader takes a whole tensor into memory; with its place in a file, it can be read in blocks.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tensorflow.core.protobuf import tensor_bundle_pb2

_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
_LITTLE = 0


class Place(NamedTuple):
    """A tensor's bytes: data file, offset and size."""

    file: Path
    offset: int
    size: int


def places(prefix: str) -> dict[str, Place]:
    """Return the place of each tensor of the checkpoint `prefix` that is stored in one piece, in this machine's order.

    It is empty if the index is compressed or damaged, and then TensorFlow's reader has to be asked.
    """
    try:
        return _places(prefix, Path(prefix + ".index").read_bytes())
    except (ValueError, IndexError):
        return {}


def _places(prefix: str, data: bytes) -> dict[str, Place]:
    if int.from_bytes(data[-8:], "little") != _MAGIC:
        raise ValueError("not a table")
    _, at = _block_handle(data, len(data) - _FOOTER)  # of the meta index
    (offset, size), _ = _block_handle(data, at)
    found: dict[str, Place] = {}
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
                found[key.decode(errors="surrogateescape")] = Place(file, entry.offset, entry.size)
    return found if header.endianness == _LITTLE else {}


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
