"""Records of runs: which files they speak of, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.source.evidence.runs import read_evidence
from tests.support.source.projects import write
from tests.support.source.runs import record

FILES = {"main.py": 'get_variable("a")\nembedding_lookup()\nminimize()\n', "lib/main.py": "\n"}


def _files(root: Path) -> dict[str, Path]:
    return {f"shown/{one.relative_to(root).as_posix()}": one for one in root.rglob("*.py")}


def _record(tmp_path: Path) -> str:
    (tmp_path / "run.json").write_text(record(FILES).dump())
    return str(tmp_path / "run.json")


def test_files_are_found_by_their_ends(tmp_path: Path) -> None:
    root = write(tmp_path / "src" / "app", FILES)
    (evidence,) = read_evidence([_record(tmp_path)], _files(root))
    assert evidence.recorded("shown/main.py") == "main.py"
    assert evidence.recorded("shown/lib/main.py") == "lib/main.py"
    assert evidence.recorded("shown/other.py") == ""
    assert "record" not in repr(evidence)


def test_a_changed_file_is_named(tmp_path: Path) -> None:
    root = write(tmp_path / "app", {**FILES, "lib/main.py": "x = 1\n"})
    with pytest.raises(MigrateError, match=r"lib/main\.py was changed since the run; run `migrate trace` again"):
        read_evidence([_record(tmp_path)], _files(root))


def test_files_of_another_program(tmp_path: Path) -> None:
    root = write(tmp_path / "app", {"other.py": ""})
    with pytest.raises(
        MigrateError, match="are not among the given files; give the directory that `migrate trace` ran in"
    ):
        read_evidence([_record(tmp_path)], _files(root))


def test_no_record(tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match="cannot be read"):
        read_evidence([str(tmp_path / "none.json")], {})


def test_a_run_in_which_the_tracer_failed(tmp_path: Path) -> None:
    """A graph that it did not note might keep a table."""
    write(tmp_path / "app", FILES)
    (tmp_path / "run.json").write_text(replace(record(FILES), faults=("KeyError: 3",)).dump())
    with pytest.raises(MigrateError, match=r"`migrate trace` failed in that run .KeyError: 3., .*without --evidence"):
        read_evidence([str(tmp_path / "run.json")], _files(tmp_path / "app"))
