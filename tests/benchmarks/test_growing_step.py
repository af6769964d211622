"""`benchmarks.growing_step`: its batches, its windows."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import growing_step
from benchmarks.growing_step import BATCH, Step


@pytest.mark.parametrize("kind", ["uniform", "zipf"])
def test_batch_has_each_new_key_once_and_others_that_are_there(kind: str) -> None:
    numbers = growing_step.batch(np.random.default_rng(0), 1000, 300, kind)
    assert np.array_equal(np.sort(numbers[numbers >= 1000]), np.arange(1000, 1300)) and numbers.size == BATCH


def test_windows_tell_how_far_slow_steps_are_from_usual_ones() -> None:
    usual = [Step(rows, 10.0, 5.0) for rows in range(0, 1000, 5)]
    slow = [Step(600, 40.0, 40.0), Step(700, 40.0, 40.0), Step(800, 40.0, 40.0)]
    *_, last = growing_step.windows([Step(0, 999.0, 999.0), *usual, *slow], 1000)
    assert last[:2] == ["500 – 1,000", "103"]
    assert last[2:6] == [10.0, 40.0, 40.0, 4.0] and last[9] == 8.0
