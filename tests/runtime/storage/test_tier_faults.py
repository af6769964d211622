"""Faults below memory: no wrong row comes back, the error names table and folder, and training goes on after."""

from __future__ import annotations

import gc
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime.checkpoint import latest_complete
from runtime.storage import Storage, tiers
from tests.support.runtime import tier_worker
from tests.support.runtime.tables import make_table

pytestmark = pytest.mark.one_version

KINDS = [kind for kind in tiers.KINDS if kind != "dram"]


_started: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def _end_workers() -> Iterator[None]:
    """End the workers of a test, also where it fails before it kills them."""
    yield
    while _started:
        worker = _started.pop()
        worker.kill()
        worker.wait()


def _start(phase: str, kind: str, folder: Path, checkpoints: Path) -> subprocess.Popen[str]:
    command = [sys.executable, tier_worker.__file__, phase, kind, str(folder), str(checkpoints)]
    path = os.pathsep.join(str(part) for part in (Path(runtime.__file__).parents[1], os.environ.get("PYTHONPATH", "")))
    environment = {**os.environ, "PYTHONPATH": path, "CUDA_VISIBLE_DEVICES": ""}
    worker = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    _started.append(worker)
    assert worker.stdout is not None and worker.stdout.readline() == "busy\n"
    return worker


def _kill(worker: subprocess.Popen[str]) -> None:
    time.sleep(random.Random(worker.pid).random() / 5)
    worker.kill()
    worker.communicate()


def _table(name: str, kind: str, folder: Path, sizes: list[int] | None = None) -> runtime.Table:
    given = sizes or ([20_000, 40_000] if kind.count("_") == 2 else [20_000])
    return make_table(name, storage=Storage(kind, path=folder, sizes=given))


def _fill(table: runtime.Table, step: int, rows: int = 4000) -> np.ndarray:
    values = np.arange(rows * 4, dtype=np.float32).reshape(rows, 4) + step
    table.import_rows(np.arange(rows), values)
    return values


def _rows(table: runtime.Table, rows: int = 4000) -> np.ndarray:
    return runtime.sparse_lookup(table, tf.range(rows, dtype=tf.int64), is_train=False).numpy()


def _pooled(table: runtime.Table, rows: int) -> list[np.ndarray]:
    """Return the rows as a pooled lookup reads them, and a group of both kinds."""
    ids = tf.range(rows, dtype=tf.int64)
    bags = tf.RaggedTensor.from_uniform_row_length(ids, 1)
    one = runtime.embedding_lookup_sparse(table, bags, None, combiner="sum", is_train=False)
    grouped = runtime.grouped_embedding_lookup_sparse([(table, bags)], "sum", is_train=False)
    return [found.numpy() for found in (one, *grouped, *runtime.grouped_lookup([(table, ids)], is_train=False))]


def _owners(folder: Path) -> set[int]:
    """Return the processes that the folders of LevelDB belong to."""
    return {int(path.name.split("-")[1].split(".")[0]) for path in folder.iterdir()}


@pytest.mark.parametrize(
    ("phase", "kind"),
    [("demotion", "dram_pmem_ssdhash"), ("compaction", "dram_ssdhash"), ("compaction", "dram_leveldb")],
)
@pytest.mark.one_case
@pytest.mark.soak
def test_a_killed_process_leaves_nothing(tmp_path: Path, phase: str, kind: str) -> None:
    folder = tmp_path / "tiers"
    _kill(_start(phase, kind, folder, tmp_path))
    if kind != "dram_leveldb":  # files without a name
        assert list(folder.iterdir()) == []
    elif list(folder.iterdir()):
        table = _table("next", kind, folder)
        assert _owners(folder) == {os.getpid()}
        del table
        gc.collect()
        assert list(folder.iterdir()) == []


def test_a_process_killed_while_it_saves_leaves_a_whole_checkpoint(tmp_path: Path) -> None:
    checkpoints = tmp_path / "saved"
    checkpoints.mkdir()
    _kill(_start("checkpoint", "dram_ssdhash", tmp_path / "tiers", checkpoints))
    table = make_table("worker", storage=Storage("dram_ssdhash", path=tmp_path / "tiers", sizes=[20_000]))
    newest = latest_complete(checkpoints)
    assert newest is not None
    tf.train.Checkpoint(table=table).restore(newest).expect_partial()
    rows = _rows(table, tier_worker.ROWS)
    assert rows[0, 0] >= 2
    np.testing.assert_array_equal(rows, np.full_like(rows, rows[0, 0]))


@pytest.mark.soak
def test_processes_share_a_path(tmp_path: Path) -> None:
    worker = _start("compaction", "dram_leveldb", tmp_path, tmp_path)
    table = _table("ours", "dram_leveldb", tmp_path)
    values = _fill(table, 1)
    table.drain()
    assert {path.name.split("-")[1] for path in tmp_path.iterdir() if path.is_dir()} == {
        str(worker.pid),
        str(os.getpid()),
    }
    assert worker.poll() is None
    _kill(worker)
    other = _table("other", "dram_leveldb", tmp_path)
    assert _owners(tmp_path) == {os.getpid()}
    np.testing.assert_array_equal(_rows(table), values)
    del other, table
    gc.collect()
    assert list(tmp_path.iterdir()) == []


def _unnamed_files(folder: Path) -> list[str]:
    links = [(str(link), str(link.readlink())) for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return [link for link, target in links if target.startswith(str(folder)) and target.endswith("(deleted)")]


def _flip(path: str, every: int) -> None:
    file = os.open(path, os.O_RDWR)
    for at in range(100, os.fstat(file).st_size, every):
        old = os.pread(file, 1, at)
        os.pwrite(file, bytes([(old or b"\0")[0] ^ 0x10]), at)
    os.fsync(file)
    os.close(file)


@pytest.mark.parametrize("kind", ["dram_pmem", "dram_ssdhash", "dram_leveldb"])
@pytest.mark.one_case
def test_flipped_bits_are_errors_and_never_rows(tmp_path: Path, kind: str) -> None:
    table = _table("flipped", kind, tmp_path, [20_000, 1_000_000])
    rows = 10_000
    for step in range(4):
        values = _fill(table, step, rows)
        table.drain()
        _rows(table, rows)
        table.drain()
    status = tiers.tier_status(table.tier_status())
    assert kind != "dram_leveldb" or status[1].compactions > 0
    files = [str(path) for path in tmp_path.glob("*/*.ldb")] if kind == "dram_leveldb" else _unnamed_files(tmp_path)
    assert files
    for path in files:
        _flip(path, 997)
    damaged = 0
    for begin in range(0, rows, 8):
        ids = tf.range(begin, begin + 8, dtype=tf.int64)
        try:
            found = runtime.sparse_lookup(table, ids, is_train=False).numpy()
        except (tf.errors.DataLossError, tf.errors.ResourceExhaustedError) as error:
            damaged += 1
            assert "table 'flipped'" in error.message and str(tmp_path) in error.message
        else:
            np.testing.assert_array_equal(found, values[begin : begin + 8])
    assert damaged > 10


@pytest.fixture
def small_disk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Path]:
    """A file system of 40 MB, or as many as the test says."""
    folder = tmp_path / "disk"
    folder.mkdir()
    size = f"size={getattr(request, 'param', 40)}m"
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", size, "tmpfs", str(folder)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.one_case
def test_a_full_disk_stops_training_until_there_is_space(small_disk: Path, kind: str) -> None:
    three = kind.count("_") == 2
    table = _table("filling", kind, small_disk, [20_000, 200_000] if three else [20_000])
    rows = 150_000
    first = _fill(table, 1)
    table.drain()
    filler = small_disk / "filler"
    with filler.open("wb", 0) as file:
        try:
            while True:
                file.write(b"\0" * 65536)
        except OSError:
            pass
    values = _fill(table, 2, rows)
    for _ in range(2):
        with pytest.raises(tf.errors.ResourceExhaustedError, match=rf"table 'filling' .*'{small_disk}'.*free space"):
            table.drain()
        np.testing.assert_array_equal(_rows(table, rows), values)  # reads go on, and move nothing
        for found in _pooled(table, rows):
            np.testing.assert_array_equal(found, values)
    filler.unlink()
    table.drain()
    memory, *_ = tiers.tier_status(table.tier_status())
    assert memory.capacity is not None and memory.rows <= memory.capacity
    np.testing.assert_array_equal(_rows(table, rows), values)
    table.drain()
    np.testing.assert_array_equal(_fill(table, 1), first)
    table.drain()
    np.testing.assert_array_equal(_rows(table), first)
    del table
    gc.collect()
    assert list(small_disk.iterdir()) == []


@pytest.mark.soak
def test_what_is_left_of_a_removal_goes_with_the_next_table(tmp_path: Path) -> None:
    for name in ("recmigrate-12-34", "recmigrate-notes", "recmigrate-56-78"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "000005.ldb").write_bytes(b"rows")
    (tmp_path / "recmigrate-56-78.lock").touch()
    table = _table("next", "dram_leveldb", tmp_path)
    del table
    gc.collect()
    assert [path.name for path in tmp_path.iterdir()] == ["recmigrate-notes"]


@pytest.mark.parametrize("kind", ["dram_pmem", "dram_ssdhash"])
def test_a_short_write_is_written_whole_later(tmp_path: Path, kind: str) -> None:
    table = _table("short", kind, tmp_path)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1_500_000, hard))  # in the middle of a segment
    try:
        values = _fill(table, 1, 100_000)
        with pytest.raises(tf.errors.ResourceExhaustedError, match="table 'short' cannot write to its folder"):
            table.drain()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    table.drain()
    np.testing.assert_array_equal(_rows(table, 100_000), values)
