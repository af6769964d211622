"""The benchmarks at tiny sizes: every system computes the same numbers, ratios are right, no timing is asserted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import cold_step, criteo_step
from benchmarks.systems import SYSTEMS

TINY_ARGUMENTS = ["--samples", "32", "--fields", "4"]


def cells(text: str) -> dict[str, dict[str, str]]:
    """Read a markdown table back: row name -> column -> text."""
    lines = [
        [part.strip() for part in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")
    ]
    return {line[0]: dict(zip(lines[0], line, strict=True)) for line in lines[2:]}


@pytest.mark.soak
def test_criteo_step_runs_every_system_that_is_here(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "criteo.json"
    arguments = [
        *TINY_ARGUMENTS,
        "--keys",
        "1000",
        "--batches",
        "3",
        "--repeats",
        "2",
        "--markdown",
        "--json",
        str(output),
    ]
    assert criteo_step.main(arguments) == 0
    written = json.loads(output.read_text(encoding="utf-8"))
    assert {"ours", "stock", "stock-gather", "floor", "bare", "bare-prefetch"} <= set(written["systems"])
    for name, facts in written["systems"].items():
        assert facts["times_ms"]["criteo forward"]["count"] == 6
        assert ("criteo step" in facts["times_ms"]) == SYSTEMS[name].steps
        assert (facts["largest_difference"] is not None) == SYSTEMS[name].trains
    text = capsys.readouterr().out
    assert text.startswith("## Criteo step, adagrad\n") and written["machine"]["processor"] in text
    assert set(cells(text)) == set(written["systems"])


@pytest.mark.soak
def test_cold_step_fills_and_measures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "cold.json"
    arguments = ["--systems", "ours,stock,bare", "--keys", "2600", "--batches", "22", "--json", str(output)]
    assert cold_step.main([*TINY_ARGUMENTS, *arguments]) == 0
    written = json.loads(output.read_text(encoding="utf-8"))
    assert written["settings"]["keys"] == 20 * 128
    counts = {what: times["count"] for what, times in written["systems"]["ours"]["times_ms"].items()}
    assert counts == {"fill step": 20, "uniform forward": 10, "uniform step": 22, "zipf forward": 10, "zipf step": 22}
    assert capsys.readouterr().out.count("###") == 3
