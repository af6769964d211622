"""Two ranks of a program for SOK: the numbers of one process of stock TensorFlow, and files for any number of ranks."""

from __future__ import annotations

import struct
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tests.support.compat import sok_worker
from tests.support.compat.sok_worker import KEYS, TABLES

_STEPS = 24


def write_given(folder: Path, ranks: int) -> np.ndarray:
    """Write a static table as so many ranks of SOK do, one rank's rows after the other's; return its rows by id."""
    folder.mkdir()
    ids = np.concatenate([np.arange(rank, KEYS, ranks) for rank in range(ranks)])
    rows = np.arange(2 * KEYS, dtype=np.float32).reshape(KEYS, 2)
    for part, kind, code, numbers in (("key", 0, 1, ids), ("weight", 1, 5, rows[ids])):
        header = b"given_0".rjust(256) + struct.pack(">i32si", kind, b" " * 32, code)
        (folder / f"given_0-{part}").write_bytes(header + numbers.tobytes())
    return rows


def run(ranks: int, steps: int, folder: Path, *options: str) -> list[dict[str, np.ndarray]]:
    """Run the worker; return what each rank found."""
    command = [sys.executable, "-m", "runtime.compat.sok", "-n", str(ranks), *options, sok_worker.__file__]
    done = subprocess.run([*command, str(steps), str(folder)], capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    return [dict(np.load(folder / f"{rank}.npz")) for rank in range(ranks)]


def rows_of(name: str, found: list[dict[str, np.ndarray]]) -> np.ndarray:
    """Return the rows of all keys, each of which one rank has."""
    keys, rows = (np.concatenate([one[f"{name}-{part}"] for one in found]) for part in ("keys", "rows"))
    assert sorted(keys) == list(range(KEYS))
    return rows[np.argsort(keys)]


def check(found: list[dict[str, np.ndarray]], want: dict[str, np.ndarray], given: np.ndarray) -> None:
    """Compare what the ranks found with what one process did."""
    ranks = len(found)
    for rank, one in enumerate(found):
        np.testing.assert_allclose(one["losses"], want["losses"], rtol=1e-5)
        assert np.abs(one["kernel"] - want["kernel"]).max() <= 1e-5 * np.abs(want["kernel"]).max()
        for name in ("mean", "dense", "given"):
            assert (one[f"{name}-keys"] % ranks == rank).all()
        assert len(one["sum-keys"]) == (KEYS if rank == ranks - 1 else 0)
    for name in TABLES:
        assert np.abs(rows_of(name, found) - want[name]).max() <= 1e-5 * np.abs(want[name]).max(), name
    np.testing.assert_array_equal(rows_of("given", found), given)


def test_two_ranks_train_as_one_process(tmp_path: Path) -> None:
    given = write_given(tmp_path / "given", 4)
    found = run(2, _STEPS, tmp_path)
    want = sok_worker.train_stock(_STEPS)
    check(found, want, given)
    assert len(np.unique(want["losses"])) == _STEPS
    _load_alone(tmp_path / "made", {name: rows_of(name, found) for name in TABLES})


def _load_alone(folder: Path, trained: dict[str, np.ndarray]) -> None:
    """One rank reads what two dumped: the same bits."""
    from runtime.compat import sok

    sok.init(use_legacy_optimizer=False)
    static = sok.Variable(np.zeros([KEYS, 6], np.float32), name="mean")
    table = sok.DynamicVariable(TABLES["sum"][0], name="sum")
    sok.load(str(folder), [static, table])
    np.testing.assert_array_equal(static, trained["mean"])
    np.testing.assert_array_equal(sok.all2all_dense_embedding(table, np.arange(KEYS)), trained["sum"])
    header = (folder / "mean_0-weight").read_bytes()[:296]
    assert struct.unpack(">256si32si", header) == (b"mean_0".rjust(256), 1, b" " * 32, 5)
    meta = (folder / "meta_info").read_bytes()
    assert struct.unpack(">i3i3i3i3q", meta[:64]) == (3, *(1,) * 3, *(5,) * 3, 6, 4, 3, *(KEYS,) * 3)
    assert meta[64 : 64 + 3 * 256].split() == [b"mean_0", b"sum_0", b"dense_0"]
    assert meta[64 + 3 * 256 :].split() == [b"SGD"] * 3
    with pytest.raises(ValueError, match="make the variable as large as it was"):
        sok.load(str(folder), sok.Variable(np.zeros([KEYS + 1, 6], np.float32), name="mean"))
