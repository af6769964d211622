"""The parts that the processes of a program wrote become one record, in whatever order they come."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from migrate.trace.joining import joined
from migrate.trace.record import GraphRecord, Record, Variable, load_record

TABLE = Variable("table", (9, 2), "float32", (("a.py", 1),))
GRAPH = GraphRecord((TABLE,))
OTHER_GRAPH = GraphRecord((replace(TABLE, name="other"),))
FIRST = Record((), "after 5 steps", 5, "3.11.7", "2.15.1", {}, {"a.py": "aa", "b.py": "bb"}, (GRAPH,))
OTHER = replace(
    FIRST,
    ended="killed",
    steps=2,
    files={"b.py": "other", "c.py": "cc"},
    graphs=(GRAPH, OTHER_GRAPH),
)


def parts(folder: Path, *records: Record) -> list[Path]:
    paths = [folder / f"{number}.json" for number in range(len(records))]
    for path, record in zip(paths, records, strict=True):
        path.write_text(record.dump())
    return paths


@pytest.mark.parametrize("turned", [False, True])
def test_parts_are_joined(tmp_path: Path, turned: bool) -> None:
    """The one with the most steps says how the run ended; equal graphs are one; files must not differ."""
    given = (OTHER, FIRST) if turned else (FIRST, OTHER)
    record, processes, faults = joined(parts(tmp_path, *given), ["python", "a.py"], 0)
    assert record is not None and (processes, faults) == (2, ())
    assert (record.command, record.steps, record.ended) == (("python", "a.py"), 5, "after 5 steps")
    assert record.files == {"a.py": "aa", "c.py": "cc"}
    assert record.graphs == (GRAPH, OTHER_GRAPH)


def test_a_process_without_graphs_gives_its_files_alone(tmp_path: Path) -> None:
    without = replace(OTHER, graphs=(), steps=9)
    record, processes, _ = joined(parts(tmp_path, without, FIRST), ["a"], 0)
    assert record is not None and (processes, record.steps, record.files["c.py"]) == (1, 5, "cc")
    assert joined(parts(tmp_path, without), ["a"], 0) == (None, 0, ())


@pytest.mark.parametrize(
    ("ended", "code", "said"),
    [("by itself", 3, "by exit code 3"), ("killed", -9, "by SIGKILL"), ("by ValueError", 1, "by ValueError")],
)
def test_the_exit_code_says_more_of_the_end(tmp_path: Path, ended: str, code: int, said: str) -> None:
    record, _, _ = joined(parts(tmp_path, replace(FIRST, ended=ended)), ["a"], code)
    assert record is not None and record.ended == said


def test_what_went_wrong_in_a_process_is_told(tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text('{"error": "KeyError: 3"}')
    (tmp_path / "y.json").write_text("{")
    record, _, faults = joined([tmp_path / "x.json", tmp_path / "y.json", *parts(tmp_path, FIRST)], ["a"], 0)
    assert record is not None and faults[0] == "KeyError: 3" and len(faults) == 2


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (path,) = parts(tmp_path, FIRST)
    assert load_record(path) == FIRST


@pytest.mark.parametrize("turned", [False, True])
def test_a_variable_that_one_process_has_is_set(tmp_path: Path, turned: bool) -> None:
    """A worker takes fewer steps than the one that starts it, and is told what it is by its environment."""
    given = (replace(FIRST, environment={"TF_CONFIG": None}), replace(OTHER, environment={"TF_CONFIG": "{}"}))
    record, _, _ = joined(parts(tmp_path, *(given[::-1] if turned else given)), ["a"], 0)
    assert record is not None and record.environment == {"TF_CONFIG": "{}"}
