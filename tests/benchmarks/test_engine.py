"""The engine's benchmark on tiny sizes: every part runs, checks what was computed, and prints a table of numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import engine, engine_part
from benchmarks.common import BenchmarkError


@pytest.mark.soak
def test_parts_print_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "engine.json"
    sizes = ["--keys", "1000"]
    assert engine.main(["--parts", "keys,save", *sizes, "--markdown", "--json", str(output)]) == 0
    printed = capsys.readouterr().out
    assert "### By keys" in printed and f"| {engine_part.BATCH:,} " in printed
    assert "restore; plain: read" in printed and "nan" not in printed
    written = json.loads(output.read_text(encoding="utf-8"))["measured"]
    assert [one["settings"].get("optimizer") for one in written if one["part"] == "save"] == ["sgd", "adagrad"]
    cold = written[0]["result"]
    # All keys fit in the first batch: nothing grew, so there is no growth to divide.
    assert cold["bytes_beyond_rows"] is None and cold["reported_beyond_rows"] > 0


@pytest.mark.parametrize("optimizer", ["adagrad", "sgd"])
def test_reference_follows_duplicates(optimizer: str) -> None:
    reference = engine_part.Reference(1000, optimizer)
    twice, never = reference.numbers[:2]
    reference.step(np.array([twice, 5000, twice]))
    moved = 0.01 - 0.01 * 0.2 / (np.sqrt(0.1 + 0.2**2) if optimizer == "adagrad" else 1.0)
    rows = np.full((reference.numbers.size, 3), 0.01, np.float32)
    rows[0] = moved
    reference.check(rows)
    rows[1] *= 1.01
    with pytest.raises(BenchmarkError, match="rows of the table differ"):
        reference.check(rows)
    assert never != twice
