"""Switches of the runtime: what they write is run, and what it does not have is an error or keeps the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from migrate.report.model import State
from tests.support.targets.conversion import convert
from tests.support.targets.programs import ESTIMATOR, MONITORED, SESSION, program, run_program

#: Switches that leave the values as they are while no id is rare and no row is old.
SAME = {
    "modify_graph": {"modify_graph": True},
    "admission of one": {"admission": 1},
    "eviction": {"eviction": 86400},
    "both": {"admission": 1, "eviction": "86400s", "modify_graph": True},
    "no effect": {"dynamic_expansion": True, "cache_mode": "DDR"},
}


@pytest.mark.parametrize("kind", [SESSION, MONITORED, ESTIMATOR], ids=["session", "monitored", "estimator"])
@pytest.mark.parametrize("switches", SAME.values(), ids=SAME)
@pytest.mark.one_case
def test_it_trains_as_before(kind: str, switches: dict[str, object], tmp_path: Path) -> None:
    text = program(kind)
    result = convert(text, "runtime", assume=True, **switches)
    assert {table.verdict for table in result.tables} == {State.APPLIED}
    np.testing.assert_allclose(run_program(result.converted, tmp_path), run_program(text, tmp_path), rtol=1e-5)
