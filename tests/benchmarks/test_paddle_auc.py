"""`benchmarks.paddle.auc`: both sides of a small model reach the same AUC, and the table says how ranges lie."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.paddle import auc
from tests.support.paths import ROOT

FOLDERS = ROOT / "tests" / "migrate" / "source" / "paddle" / "folders"
FOLDER = FOLDERS / "wide_deep"


@pytest.fixture(autouse=True)
def clean_imports() -> Iterator[None]:
    here, path = Path.cwd(), list(sys.path)
    yield
    os.chdir(here)
    sys.path[:] = path
    forget()


def forget() -> None:
    for name in ("net", "dygraph_model", "slot_reader"):
        sys.modules.pop(name, None)


def test_the_table_says_whether_ranges_overlap(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    reached = {"paddle": (0.6, 0.7), "converted": (0.7, 0.8)}

    def trained(side: str, folder: Path, data: Path, epochs: int, seeds: int) -> list[list[dict[str, float]]]:
        assert (data, epochs, seeds) == (FOLDER, 2, 2)  # as many epochs as any row needs
        return [[{"auc": 0.5 if side == "paddle" else 0.4}, {"auc": value}] for value in reached[side]]

    monkeypatch.setattr(auc, "trained", trained)
    converts = {FOLDER: ("dygraph_model.py", "")}
    monkeypatch.setattr(auc, "convert", lambda folder, _: converts.get(folder, ("", "net.py:3: why")))
    assert auc.main([str(FOLDERS), "--only", "sessions"]) == 1
    assert "sessions: net.py:3: why" in capsys.readouterr().err
    assert auc.main([str(FOLDERS), "--only", "wide_deep:2", "--seeds", "2"]) == 0
    capsys.readouterr()
    assert auc.main([str(FOLDERS), "--only", "wide_deep:1,2", "--only", "sessions", "--seeds", "2"]) == 1
    lines = capsys.readouterr().out.splitlines()
    count = len((FOLDER / "data" / "train" / "part-0").read_text().splitlines())
    start = f"| wide_deep | auc | 1 | {count} lines, tested on the same |"
    assert lines[2] == f"{start} 0.500 (0.500 to 0.500) | 0.400 (0.400 to 0.400) | no |"
    assert lines[3].endswith("| 0.650 (0.600 to 0.700) | 0.750 (0.700 to 0.800) | yes |")
    assert lines[-1] == "Mean (smallest to largest) of 2 seeds; 1 of 2 ranges overlap."
