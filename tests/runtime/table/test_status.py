"""runtime.status() sees eager tables and those of sessions, with their rows, and forgets them when they are gone."""

from __future__ import annotations

import dataclasses
import gc

import numpy as np

import runtime
from tests.support.runtime.tables import make_table


def _rows(name: str) -> list[int]:
    gc.collect()
    return [table.rows for table in runtime.status().tables if table.name == name]


def test_eager_tables() -> None:
    table = make_table("status_eager", dim=8)
    before = next(each for each in runtime.status().tables if each.name == "status_eager")
    table.import_rows(np.arange(100_000), np.zeros((100_000, 8)))
    after = next(each for each in runtime.status().tables if each.name == "status_eager")
    assert (before.rows, after.rows, after.dim) == (0, 100_000, 8)
    assert after.bytes - before.bytes >= 100_000 * 8 * 4
    del table
    assert _rows("status_eager") == []


def test_text_and_plain_data() -> None:
    table = make_table("status_text")
    found = runtime.status()
    assert found.threads >= 1
    assert (
        str(found).splitlines()[0]
        == f"{len(found.tables)} table{'s'[: len(found.tables) != 1]}, {found.threads} threads"
    )
    assert any(line.startswith("status_text") and "0 rows" in line for line in str(found).splitlines())
    line = next(line for line in str(found).splitlines() if line.startswith("status_text"))
    assert line.endswith(" KiB")  # an empty table is not "0.0 MiB"
    assert " 0.0 " not in line
    listed = dataclasses.asdict(found)["tables"]
    assert {"name", "dim", "rows", "bytes", "evicted"} == set(listed[0])
    assert table.table_name in [each["name"] for each in listed]
