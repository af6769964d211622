"""Records of a traced program: written, read, joined, and judged."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from migrate.trace.joining import joined
from migrate.trace.judging import _shared_otherwise, judged
from migrate.trace.record import GraphRecord, Record, Use, Variable, load_record

USE = Use("Gather", "e", (("a.py", 2),))
TABLE = Variable("item", (9, None), "float32", (("a.py", 1),), (USE,), "item", ("adam",))
GRAPH = GraphRecord((TABLE,), "g.meta")
RECORD = Record(("python",), "by itself", 3, "3.11", "2.15", {"TF_CONFIG": None}, {"a.py": "aa"}, (GRAPH,), ("f",))

DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no uses": lambda body: body["graphs"][0]["variables"][0].update(uses={}),
    "a word for a list": lambda body: body["graphs"][0]["variables"][0].update(rules="adam"),
    "an infinite line": lambda body: body["graphs"][0]["variables"][0].update(created=[["a.py", float("inf")]]),
    "a number for a path": lambda body: body["graphs"][0]["variables"][0]["uses"][0].update(at=[[1, 1]]),
    "a path without a line": lambda body: body["graphs"][0]["variables"][0]["uses"][0].update(at=[["a.py"]]),
    "no list of variables": lambda body: body["graphs"][0].update(variables=""),
    "files as a list": lambda body: body.update(files=["a.py"]),
    "no environment": lambda body: body.pop("environment"),
    "steps as a bool": lambda body: body.update(steps=True),
}


def test_a_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(RECORD.dump())
    assert load_record(tmp_path / "t.json") == RECORD


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_record(damage: Callable[[dict[str, Any]], object], tmp_path: Path) -> None:
    body = json.loads(RECORD.dump())
    damage(body)
    (tmp_path / "t.json").write_text(json.dumps(body))
    with pytest.raises(MigrateError, match=r"a damaged record: run `migrate trace` again"):
        load_record(tmp_path / "t.json")


@pytest.mark.parametrize("text", ["", "[" * 100_000, "null", '{"format": 1}', "\ufeff{", "9" * 5000])
def test_no_record(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(MigrateError, match="not a record of `migrate trace`"):
        load_record(tmp_path / "t.json")


JOINING_TABLE = Variable("table", (9, 2), "float32", (("a.py", 1),))
JOINING_GRAPH = GraphRecord((JOINING_TABLE,))
OTHER_GRAPH = GraphRecord((replace(JOINING_TABLE, name="other"),))
FIRST = Record((), "after 5 steps", 5, "3.11.7", "2.15.1", {}, {"a.py": "aa", "b.py": "bb"}, (JOINING_GRAPH,))
OTHER = replace(
    FIRST,
    ended="killed",
    steps=2,
    files={"b.py": "other", "c.py": "cc"},
    graphs=(JOINING_GRAPH, OTHER_GRAPH),
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
    assert record.graphs == (JOINING_GRAPH, OTHER_GRAPH)


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


def test_a_joined_record_is_read_as_it_was_written(tmp_path: Path) -> None:
    (path,) = parts(tmp_path, FIRST)
    assert load_record(path) == FIRST


@pytest.mark.parametrize("turned", [False, True])
def test_a_variable_that_one_process_has_is_set(tmp_path: Path, turned: bool) -> None:
    """A worker takes fewer steps than the one that starts it, and is told what it is by its environment."""
    given = (replace(FIRST, environment={"TF_CONFIG": None}), replace(OTHER, environment={"TF_CONFIG": "{}"}))
    record, _, _ = joined(parts(tmp_path, *(given[::-1] if turned else given)), ["a"], 0)
    assert record is not None and record.environment == {"TF_CONFIG": "{}"}


v1 = tf.compat.v1


@pytest.mark.parametrize(("whole", "moves"), [(lambda table: table * 2.0, True), (tf.transpose, False)])
def test_lookups_in_what_is_computed_of_a_variable(whole: Callable[[Any], Any], moves: bool, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("user", [9, 4])
        ids = v1.placeholder(tf.int64, [None])
        v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(whole(table), ids) ** 2))
        v1.train.export_meta_graph(str(tmp_path / "g.meta"), graph=graph)
    found = Variable("user", (9, 4), "float32", (), (Use("Mul", "mul", ()),))
    record = Record((), "", 1, "", "", {}, {}, (GraphRecord((found,), "g.meta"),))
    [graph_record] = judged(record, tmp_path).graphs
    [variable] = graph_record.variables
    assert variable.table == ("user" if moves else "") and bool(variable.stays) is not moves
    assert graph_record.growth == (
        ("`user` can grow: each new id gets a row, if the rest of the model takes it",) if moves else ()
    )


@pytest.mark.parametrize(
    ("config", "shared"),
    [
        (None, False),
        ('{"cluster": {"ps": ["h:1"], "worker": ["h:2"]}, "task": {"type": "worker", "index": 0}}', False),
        ('{"cluster": {"worker": ["h:1", "h:2"]}, "task": {"type": "worker", "index": 0}}', True),
        ("{}", True),
        ("[1]", True),
    ],
)
def test_processes_without_servers_may_share_variables_by_a_strategy(config: str | None, shared: bool) -> None:
    one = replace(RECORD, environment={"TF_CONFIG": config})
    graph = replace(GRAPH, graph="")
    assert judged(replace(one, graphs=(graph,)), Path()).graphs == (graph,)
    assert _shared_otherwise(config) is shared
