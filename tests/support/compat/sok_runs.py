"""Programs for SOK as several ranks, and the numbers of one process that theirs are compared with."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from tests.support import forking, programs
from tests.support.compat import sok_layers_worker, sok_worker
from tests.support.compat.sok_layers_worker import Case
from tests.support.compat.sok_worker import KEYS, TABLES


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
    command = [forking.python(), "-m", "runtime.compat.sok", "-n", str(ranks), *options, sok_worker.__file__]
    done = programs.run([*command, str(steps), str(folder)], 540)
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


def compare(engine: str, mode: str, ranks: int, cases: Sequence[Case], folder: Path) -> float:
    """Run cases; return the largest difference of losses, rows and dense layers, as a part of the largest value."""
    program = [sok_layers_worker.__file__, mode, str(folder), *map(sok_layers_worker.name_of, cases)]
    command = [forking.python(), "-m", "runtime.compat.sok", "-n", str(ranks), "--engine", engine, *program]
    done = programs.run(command, 540)
    assert done.returncode == 0, done.stderr[-4000:]
    worst = 0.0
    for rank in range(ranks):
        found = np.load(folder / f"{rank}.npz")
        assert str(found["engine"]) == engine
        for case in cases:
            for name, want in sok_layers_worker.train_stock(case).items():
                got = found[f"{sok_layers_worker.name_of(case)}-{name}"]
                assert got.shape == want.shape
                difference = float(np.abs(got - want).max() / np.abs(want).max())
                assert difference <= 1e-5, f"{engine}, {mode}, {ranks} ranks, {case}, {name}: {difference}"
                worst = max(worst, difference)
    return worst
