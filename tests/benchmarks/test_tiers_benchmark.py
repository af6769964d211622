"""What the benchmark of tiers runs, and that letting a file's cache go loses nothing."""

from __future__ import annotations

import mmap
from pathlib import Path

import pytest

from benchmarks.storage import disk, tiers


def test_first_kind_runs_once_for_each_size_of_table() -> None:
    given = ["--kinds", "dram,dram_ssdhash,dram_pmem", "--dim", "8,16", "--memory", "0.1,0.5", "--policy", "lfu,lru"]
    runs = tiers._settings(tiers._arguments(given))
    assert [[run.kind for run in of_size].count("dram") for of_size in runs] == [1, 1]
    assert [len(of_size) for of_size in runs] == [1 + 2 * 2 * 2] * 2
    assert {run.dim for run in runs[1]} == {16}


@pytest.mark.parametrize("given", [["--memory", "0"], ["--memory", "0.1,1.5"], ["--policy", "lfu,fifo"]])
def test_sizes_and_policies_are_checked(given: list[str]) -> None:
    with pytest.raises(SystemExit):
        tiers._arguments(given)


def test_letting_the_cache_go_keeps_what_was_written(tmp_path: Path) -> None:
    path = tmp_path / "rows"
    path.write_bytes(bytes(1 << 16))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as mapped:
        mapped[100:104] = b"rows"
        disk.let_go(tmp_path)
        assert mapped[100:104] == b"rows"
        assert path.read_bytes()[100:104] == b"rows"
    assert disk.bytes_read() >= 0
