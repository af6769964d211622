"""Files that are no record, or were edited: one sentence says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from migrate.errors import MigrateError
from migrate.trace.record import GraphRecord, Record, Use, Variable, load_record

USE = Use("lookup", "Gather", "e", (("a.py", 2),), "", "", (2, 9))
TABLE = Variable("item", (9, None), "float32", True, (("a.py", 1),), ("v",), (USE,), "item", 1)
GRAPH = GraphRecord("graph", (TABLE,), ("f",), ("g",))
RECORD = Record(
    ("python",), "by itself", 3, "3.11", "2.15", {"TF_CONFIG": None}, {"a.py": "aa"}, {"a.py": (1,)}, (GRAPH,), ("f",)
)

DAMAGE: dict[str, Callable[[dict[str, Any]], object]] = {
    "no uses": lambda body: body["graphs"][0]["variables"][0].update(uses={}),
    "a word for a bool": lambda body: body["graphs"][0]["variables"][0].update(trainable="no"),
    "an infinite line": lambda body: body["graphs"][0]["variables"][0].update(made=[["a.py", float("inf")]]),
    "a number for a path": lambda body: body["graphs"][0]["variables"][0]["uses"][0].update(at=[[1, 1]]),
    "an unknown kind": lambda body: body["graphs"][0]["variables"][0]["uses"][0].update(kind="other"),
    "no list of variables": lambda body: body["graphs"][0].update(variables=""),
    "lines as a word": lambda body: body["ran"].update({"a.py": "12"}),
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
    with pytest.raises(MigrateError, match=r"a damaged record .*trace again"):
        load_record(tmp_path / "t.json")


@pytest.mark.parametrize("text", ["", "[" * 100_000, "null", '{"format": 1}', "\ufeff{", "9" * 5000])
def test_no_record(text: str, tmp_path: Path) -> None:
    (tmp_path / "t.json").write_text(text)
    with pytest.raises(MigrateError, match="not a record of `migrate trace`"):
        load_record(tmp_path / "t.json")
