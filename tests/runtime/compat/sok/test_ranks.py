"""Two ranks of a program for SOK: the numbers of one process of stock TensorFlow, and files for any number of ranks."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest

from tests.support.compat import sok_worker
from tests.support.compat.sok_runs import check, rows_of, run, write_given
from tests.support.compat.sok_worker import KEYS, TABLES

_STEPS = 24


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
    with pytest.raises(ValueError, match="create the variable with its former size"):
        sok.load(str(folder), sok.Variable(np.zeros([KEYS + 1, 6], np.float32), name="mean"))
