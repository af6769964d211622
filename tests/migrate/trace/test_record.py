"""Files that are no record, or were edited: one sentence says what is wrong."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from migrate.errors import MigrateError
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
