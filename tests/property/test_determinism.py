"""The same operations give the same bits whatever the number of threads, also across a checkpoint."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support import forking
from tests.support.property import replay


def _replay(folder: Path, threads: int, mode: str) -> list[str]:
    environment = os.environ | {"RECMIGRATE_NUM_THREADS": str(threads)}
    done = forking.run(replay.__file__, folder, "11", mode, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_any_number_of_threads_gives_the_same_bits(tmp_path: Path) -> None:
    folders = {threads: tmp_path / str(threads) for threads in (1, 5)}
    for folder in folders.values():
        folder.mkdir()
    with ThreadPoolExecutor(2) as pool:
        replays = {threads: pool.submit(_replay, folder, threads, "save") for threads, folder in folders.items()}
    saved = {threads: replay.result() for threads, replay in replays.items()}
    assert len(saved[1]) == 6
    assert saved[1] == saved[5]
    assert all(int(line.split()[3]) > 10_000 for line in saved[1] if " second " in line)
    # What one thread saved, five restore.
    assert _replay(folders[1], 5, "restore") == [line for line in saved[1] if " second " in line]
