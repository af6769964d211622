"""`benchmarks.unbucket`: what it prints and draws, with tiny models; no timing is asserted."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from benchmarks.unbucket import __main__ as program
from benchmarks.unbucket.limits import FREE, KEPT, LIMITS
from benchmarks.unbucket.three_ways import WAYS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.soak
@pytest.mark.one_version
def test_both_parts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    tiny = {"SIZES": (60, 20), "SHARING": {"90 %": 0.4}, "BATCH": 32, "HELD_OUT": 200}
    tiny |= {"LIMITED_SIZES": (9000, 4000), "LIMITED_SHARE": 0.02, "LIMITED_BATCH": 64}
    for name, value in tiny.items():
        monkeypatch.setattr(program, name, value)
    assert program.main(["--steps", "32", "--limited-steps", "120", "--svg", str(tmp_path / "a.svg")]) == 0
    lines = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    ways, limits = lines[1:4], {line[0]: line[1:] for line in lines[5:]}
    assert [line[1] for line in ways] == list(WAYS)
    assert int(ways[0][6]) == 32 and ways[0][2] == ways[1][2] != ways[2][2]
    assert list(limits) == [KEPT.name, FREE.name, *(one.name for one in LIMITS)]
    rows = {name: int(line[0].replace(",", "")) for name, line in limits.items()}
    assert rows[KEPT.name] <= 260 < rows[LIMITS[0].name] < rows[FREE.name] == rows[LIMITS[-1].name]
    assert limits[FREE.name][2] == limits[LIMITS[3].name][2], "rows on disk train as rows in memory"
    assert len(list(ET.parse(tmp_path / "a.svg").getroot().iter(f"{SVG}g"))) == 1
