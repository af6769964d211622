"""The benchmark of rows on a device runs on a CPU, where its check wants the same bits."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.support import forking
from tests.support.paths import ROOT

_SMALL = ["--keys", "2000", "--rows", "400", "--samples", "32", "--fields", "2", "--dense", "8"]


@pytest.mark.soak
def test_it_runs_on_a_cpu_and_finds_the_same_bits(tmp_path: Path) -> None:
    given = ["--device", "/cpu:0", *_SMALL, "--turns", "2", "--steps", "3", "--json", str(tmp_path / "all.json")]
    done = forking.run("-m", "benchmarks.storage.device_rows", *given, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert done.returncode == 0, done.stderr
    assert "differ by 0 at most" in done.stdout
    found = json.loads((tmp_path / "all.json").read_text())
    assert [line[0] for line in found["sections"][0]["lines"]] == [
        "rows of the host",
        "400 rows on the device",
        "a variable of 2,000 rows on the device",
    ]
