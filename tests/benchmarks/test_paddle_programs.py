"""The list of public Paddle programs can be read, its data can be made, and the page has its table."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.paddle import program_data, programs
from migrate.errors import MigrateError
from tests.support.paths import ROOT

PROGRAMS = programs.programs_of(programs.LIST)


def test_the_list_names_makers_that_there_are() -> None:
    assert len(PROGRAMS) >= 25
    assert {maker for program in PROGRAMS for maker in program.data.values()} <= program_data.MAKERS.keys()
    assert all(len(program.commit) == 40 and program.entry.endswith((".py", ".ipynb")) for program in PROGRAMS)
    assert not any(program.repository == "PaddlePaddle/PaddleRec" for program in PROGRAMS)


@pytest.mark.parametrize("name", program_data.MAKERS)
def test_data_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    both = []
    for place in (tmp_path / "one", tmp_path / "two"):
        program_data.MAKERS[name](place)
        files = sorted(place.iterdir()) if place.is_dir() else [place]
        both.append([path.stat().st_size for path in files])
    assert both[0] == both[1] and min(both[0]) > 1000


def test_the_page_has_the_table_of_the_list() -> None:
    lines = (ROOT / "docs" / "paddle.md").read_text(encoding="utf-8").splitlines()
    start = lines.index("| " + " | ".join(programs.HEADS) + " |")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start + 2 : start + 2 + len(PROGRAMS)]]
    named = [[one.repository, f"{one.folder}/{one.entry}".removeprefix("./").rpartition("/")[2]] for one in PROGRAMS]
    assert [row[:2] for row in rows] == named
    assert all(row[3] in ("yes", "no") and (row[4] == "–" or " of " in row[4]) for row in rows)


def test_the_losses_of_steps_count_as_those_of_batches_do() -> None:
    rows = [("loss", "loss", 1e-7, "equal"), ("optimizer", "loss", 2e-6, "equal"), ("gradient", "w", 0.5, "differs")]
    compared = [dict(zip(("stage", "name", "max_rel", "verdict"), row, strict=True)) for row in rows]
    assert programs.judged(compared) == ("2 of 3", "2.0e-06")


def test_options_of_a_proof_are_words() -> None:
    assert any(program.options for program in PROGRAMS)
    assert all(isinstance(word, str) for program in PROGRAMS for word in (*program.options, *program.arguments))


def test_an_unknown_key_is_said(tmp_path: Path) -> None:
    path = tmp_path / "list.yaml"
    path.write_text("- {repository: a/b, commit: c, entry: d.py, shape: loop, speed: 1}\n", encoding="utf-8")
    with pytest.raises(MigrateError, match=r"`d\.py` has no key `speed`: correct the list"):
        programs.programs_of(path)


def test_a_program_that_is_not_checked_out_is_a_row(tmp_path: Path) -> None:
    row = programs.tried(PROGRAMS[0], tmp_path, tmp_path / "place", 1.0)
    assert row.converts == "no" and "is not there; check PaddlePaddle/awesome-DeepLearning out at" in row.reason
