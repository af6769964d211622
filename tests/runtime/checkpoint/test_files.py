"""Files of checkpoints: in blocks, damaged, exported to NumPy."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import checkpoint
from runtime.checkpoint import blocks
from runtime.checkpoint.bundle import Bundle, CheckpointError, write_bundle
from runtime.optimizers import lazy_adam
from tests.support.runtime.tables import make_table, session

v1 = tf.compat.v1


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """A checkpoint of the table `user`, trained by LazyAdam, with 300 rows; the folder's state names it."""
    with tf.Graph().as_default():
        table = make_table()
        rows = runtime.sparse_lookup(table, np.arange(300))
        train = lazy_adam.create_hash_optimizer(0.1).minimize(tf.reduce_sum(tf.sin(rows)))
        with session() as opened:
            opened.run(train)
            return str(v1.train.Saver().save(opened, str(tmp_path / "model"), global_step=1))


def _flip(file: Path, at: int) -> None:
    data = bytearray(file.read_bytes())
    data[at] ^= 4
    file.write_bytes(data)


def test_damaged_files_are_named(saved: str) -> None:
    checkpoint.check(saved)
    for suffix, said, changed in (("data-00000-of-00001", " at the tensor `", [0, 700, -1]), ("index", "", [])):
        file = Path(f"{saved}.{suffix}")
        whole = file.read_bytes()
        for size, at in [*((size, None) for size in (0, 60, -1)), *((len(whole), at) for at in changed)]:
            file.write_bytes(whole[:size])
            if at is not None:
                _flip(file, at)
            with pytest.raises(checkpoint.CheckpointError, match=rf"model-1\.{suffix} is damaged{said}"):
                checkpoint.check(saved)
        file.write_bytes(whole)
    Path(saved + ".data-00000-of-00001").unlink()
    with pytest.raises(checkpoint.CheckpointError, match=r"model-1\.data-00000-of-00001 is damaged"):
        checkpoint.check(saved)


def test_no_changed_byte_of_an_index_is_read_as_other_data(saved: str) -> None:
    whole = Bundle(saved)
    wanted = {name: whole.read(name).tobytes() for name in whole.shapes}
    content, found = Path(saved + ".index").read_bytes(), 0
    for at in range(0, len(content), 3):
        file = Path(saved + ".index")
        file.write_bytes(content)
        _flip(file, at)
        try:
            bundle = Bundle(saved)
            assert {name: bundle.read(name).tobytes() for name in bundle.shapes} == wanted  # an unused byte
        except checkpoint.CheckpointError as error:
            found += "model-1.index is damaged" in str(error)
    assert found > len(content) // 6


def test_the_newest_whole_checkpoint_is_found(tmp_path: Path) -> None:
    assert checkpoint.latest_complete(tmp_path) is None
    for step in range(3):
        write_bundle(tmp_path / f"model-{step}", {"a": np.arange(10.0)})
    _flip(tmp_path / "model-2.data-00000-of-00001", 3)
    assert checkpoint.latest_complete(tmp_path) == str(tmp_path / "model-1")


def test_a_wrong_name_lists_near_ones(saved: str) -> None:
    with pytest.raises(checkpoint.CheckpointError, match=r"no tensor `user_keys`: similar names: user-keys"):
        Bundle(saved).read("user_keys")
    with pytest.raises(checkpoint.CheckpointError, match=r"no rows of a table `item`: its tables are user$"):
        checkpoint.export_numpy(saved, Path(saved).parent / "out", ["item"])
    with pytest.raises(checkpoint.CheckpointError, match=r"nothing\.index does not exist"):
        Bundle(Path(saved).parent / "nothing")


def test_tables_go_to_numpy_files_and_back(saved: str, tmp_path: Path) -> None:
    (folder,) = checkpoint.export_numpy(saved, tmp_path / "out")
    names = sorted(file.name for file in folder.iterdir())
    assert names == ["keys.npy", "meta.json", "slots_m.npy", "slots_v.npy", "values.npy"]
    reader = tf.train.load_checkpoint(saved)
    np.testing.assert_array_equal(np.load(folder / "keys.npy"), reader.get_tensor("user-keys"))
    np.testing.assert_array_equal(np.load(folder / "slots_v.npy"), reader.get_tensor("user-slots")[:, 4:])
    facts = json.loads((folder / "meta.json").read_text())
    assert (facts["optimizer"], facts["dim"], facts["rows"]) == ("lazy_adam", 4, 300)
    for mmap in (False, True):
        rows = checkpoint.read_numpy(folder, mmap)
        for part in ("keys", "values", "slots", "meta"):
            np.testing.assert_array_equal(getattr(rows, part), reader.get_tensor(f"user-{part}"))


def test_the_latest_checkpoint_of_a_directory_is_exported_and_a_folder_never_overwritten(
    saved: str, tmp_path: Path
) -> None:
    checkpoint.export_numpy(tmp_path, tmp_path / "out", ["user"])
    with pytest.raises(FileExistsError, match="user exists already: remove it"):
        checkpoint.export_numpy(tmp_path, tmp_path / "out")


def test_a_live_table_is_exported_without_slots(graph: tf.Graph, tmp_path: Path) -> None:
    table = make_table()
    more = table.import_rows([5, 2**62], np.arange(8.0).reshape(2, 4))
    with pytest.raises(ValueError, match="`user` belongs to a session: give `session=`"):
        checkpoint.export_numpy(table, tmp_path)
    with session() as opened:
        opened.run(more)
        checkpoint.export_numpy([table], tmp_path / "first", session=opened)
        graph.finalize()
        checkpoint.export_numpy(table, tmp_path / "second", session=opened)
    rows = checkpoint.read_numpy(tmp_path / "second" / "user")
    assert sorted(rows.keys.tolist()) == [5, 2**62] and rows.slots.shape == (2, 0)
    np.testing.assert_array_equal(rows.values[np.argsort(rows.keys)], np.arange(8.0).reshape(2, 4))


@pytest.mark.parametrize("name", ["keys.npy", "slots_m.npy", "meta.json"])
@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_numpy_file_is_named(saved: str, tmp_path: Path, name: str, damage: str) -> None:
    (folder,) = checkpoint.export_numpy(saved, tmp_path / "out")
    file = folder / name
    if damage == "gone":
        file.unlink()
    else:
        file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(checkpoint.CheckpointError, match=rf"{name} is missing or damaged"):
        checkpoint.read_numpy(folder)


def test_a_failed_export_leaves_nothing(saved: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*args: object, **kwargs: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(np, "save", full)
    with pytest.raises(OSError, match="disk full"):
        checkpoint.export_numpy(saved, tmp_path / "out")
    assert list((tmp_path / "out").iterdir()) == []


def test_every_flipped_bit_of_a_numpy_folder_is_found(saved: str, tmp_path: Path) -> None:
    (folder,) = checkpoint.export_numpy(saved, tmp_path / "out")
    random = np.random.default_rng(1)
    for file in sorted(folder.iterdir()):
        whole = file.read_bytes()
        for at in random.integers(0, len(whole), 40):
            file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << int(random.integers(8))]) + whole[at + 1 :])
            with pytest.raises(checkpoint.CheckpointError, match=r"(npy|json) is missing or damaged"):
                checkpoint.read_numpy(folder, mmap=bool(at % 2))
        file.write_bytes(whole)
    facts = json.loads((folder / "meta.json").read_text())
    del facts["crc32"]
    (folder / "meta.json").write_text(json.dumps(facts | {"format": 1}))  # as earlier versions wrote it
    assert len(checkpoint.read_numpy(folder).keys) == 300


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
