"""Switches of the runtime: what they write is run, and what it does not have is an error or keeps the table."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from migrate.errors import MigrateError
from migrate.report.model import State
from tests.support.targets.programs import ESTIMATOR, MONITORED, SESSION, program, run_program
from tests.support.targets.runner import convert, model

LOOKUP = "out = tf.nn.embedding_lookup(W, ids)"
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


@pytest.mark.parametrize(
    ("switches", "says"),
    [
        ({"cache_mode": "SSD"}, "no SSD tier"),
        ({"cache_mode": "HBM"}, "host memory"),
        ({"eviction": "60steps"}, "in seconds"),
        ({"multi_lookup": True}, "any number of lookups"),
        ({"cache_mode": "ddr"}, "HBM, DDR or SSD"),
        ({"admission": 0}, "at least 1"),
        ({"admission": True}, "at least 1"),
        ({"eviction": "soon"}, "seconds, e.g. 86400"),
        ({"modify_graph": "yes"}, "true or false"),
    ],
)
def test_a_switch_that_it_lacks_or_that_says_nothing_is_an_error(switches: dict[str, object], says: str) -> None:
    with pytest.raises(MigrateError, match=says):
        convert(model(LOOKUP), "runtime", **switches)
