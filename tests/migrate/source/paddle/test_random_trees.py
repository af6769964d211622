"""Whatever tree of layers is drawn, its conversion agrees with Paddle."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

from tests.support.paddle import cases as cases
from tests.support.paddle import oracle as oracle
from tests.support.paddle import trees as trees

SCHEMA = cases.schema("RandomLayer", {"feature_size": 20})
#: `make soak` draws ten times as many.
EXAMPLES = int(os.environ.get("MIGRATE_FUZZ", "40")) // 8


@pytest.mark.paddle
@settings(
    max_examples=EXAMPLES, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(trees.models())
def test_random_trees_agree(source: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        oracle.compare(source, SCHEMA, Path(folder), seed=len(source), double=True)
