"""Tensors in blocks are those that TensorFlow reads and writes whole."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runtime.checkpoint import blocks
from runtime.checkpoint.bundle import Bundle, CheckpointError, write_bundle

VALUES = np.random.RandomState(0).standard_normal([3000, 5]).astype(np.float32)
TENSORS = {"a/values": VALUES, "a/values_1": VALUES[:, 0], "a/word": np.array(b"word", object), "keys": np.arange(3000)}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a block be much smaller than the tensors."""
    monkeypatch.setattr(blocks, "BLOCK_BYTES", 1 << 10)


@pytest.mark.parametrize("step", [0, 7, 5000])
def test_blocks_of_rows_are_the_tensor(tmp_path: Path, step: int) -> None:
    write_bundle(tmp_path / "old", TENSORS)
    reader = blocks.BlockReader(Bundle(tmp_path / "old"))
    for name in ("a/values", "a/values_1", "keys"):
        found = list(reader.blocks(name, step))
        np.testing.assert_array_equal(np.concatenate(found), TENSORS[name])
        assert len(found) > 1 or step == 5000


def test_what_is_written_in_blocks_is_read_whole_and_in_blocks(tmp_path: Path) -> None:
    write_bundle(tmp_path / "old", TENSORS)
    reader = blocks.BlockReader(Bundle(tmp_path / "old"))
    with blocks.BlockWriter(tmp_path / "new") as writer:
        for name in TENSORS:
            writer.copy(reader, name, name + "_copy")
        writer.add("none", np.zeros([0, 4], np.float32))
    copied = Bundle(tmp_path / "new")
    assert copied.shapes.keys() == {*(name + "_copy" for name in TENSORS), "none"}
    for name, value in TENSORS.items():
        np.testing.assert_array_equal(copied.read(name + "_copy"), value)
    again = list(blocks.BlockReader(copied).blocks("a/values_copy"))
    np.testing.assert_array_equal(np.concatenate(again), VALUES)
    assert not list(tmp_path.glob("*-part-*"))


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="full"), blocks.BlockWriter(tmp_path / "new") as writer:
        writer.add_blocks("a", [3000, 5], iter([VALUES[:100]]))
        raise RuntimeError("full")
    assert not list(tmp_path.iterdir())


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    write_bundle(tmp_path / "old", TENSORS)
    reader = blocks.BlockReader(Bundle(tmp_path / "old"))
    data = tmp_path / "old.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:50000])
    with pytest.raises(CheckpointError, match="is truncated at the tensor `a/values`"):
        list(reader.blocks("a/values"))
