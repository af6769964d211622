"""The record of the mutants: each that no test notices is listed with the reason why it is left."""

from __future__ import annotations

import csv
from pathlib import Path

from tests.mutants.covered import Covered
from tests.mutants.covering import spared
from tests.mutants.sites import read
from tests.mutants.trials import killer_of
from tests.support.paths import ROOT

HERE = ROOT / "tests" / "mutants"
CLASSES = {"equivalent", "speed", "wording", "gap"}


def _rows(name: str) -> list[dict[str, str]]:
    with (HERE / name).open(newline="") as file:
        return list(csv.DictReader(file, delimiter="\t"))


def _place(row: dict[str, str]) -> tuple[str, ...]:
    return tuple(row[name] for name in ("path", "line", "column", "before", "after"))


def test_each_that_is_alive_has_its_reason_and_no_other_has_one() -> None:
    survivors = _rows("survivors.tsv")
    assert [_place(row) for row in survivors] == [_place(r) for r in _rows("results.tsv") if r["outcome"] == "alive"]
    for row in survivors:
        assert row["class"] in CLASSES and 10 < len(row["reason"]) <= 140, row


def test_what_killed_a_change_last_time_is_asked_first_also_where_the_cover_lacks_it() -> None:
    mutant = read(HERE / "sample.tsv")[0]
    covered = Covered({"a.py::one": 1.0}, {}, {})
    assert covered.of(mutant, "b.py::two[3]") == ["b.py::two[3]"]
    assert covered.of(mutant, "time") == []
    assert covered.within(["b.py::two[3]", "a.py::one"], 1.5) == ["b.py::two[3]"]


def test_a_logged_error_is_no_test_that_killed(tmp_path: Path) -> None:
    out = tmp_path / "out.txt"
    out.write_text("ERROR    tensorflow:meta_graph.py:823 Skipping.\nFAILED tests/a.py::b[c d] - assert 0\n")
    assert killer_of(out) == "tests/a.py::b[c d]"
    out.write_text("ImportError\n")
    assert killer_of(out) == "an import"


def test_a_second_version_is_spared_tests_whose_statements_others_run() -> None:
    places = [("runtime/a.py", line) for line in range(4)]
    ran = {"slow": range(3), "quick": range(2), "other": range(2, 4), "keras": range(1), "tiny": range(1)}
    seconds = {"slow": 9.0, "quick": 1.0, "other": 2.0, "keras": 3.0, "tiny": 0.01}
    names = {name: f"tests/runtime/test_a.py::{name}[case]" for name in ran}
    covered = Covered(
        {names[name]: taken for name, taken in seconds.items()},
        {},
        {place: [names[name] for name, lines in ran.items() if place[1] in lines] for place in places},
    )
    assert spared(covered) == {"tests/runtime/test_a.py": ["slow"]}
