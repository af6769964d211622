"""runtime.status() sees eager tables and those of sessions, with their rows, and forgets them when they are gone."""

from __future__ import annotations

import dataclasses

import runtime
from tests.support.runtime.tables import make_table


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
