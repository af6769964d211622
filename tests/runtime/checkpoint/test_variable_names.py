"""Which variables of a checkpoint tables replaced, by their names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from runtime.checkpoint.bundle import Bundle, write_bundle
from runtime.checkpoint.variable_names import own_variables, variables_by_name

#: tables and variables with their widths, and the variables that each may be
NAMED: dict[str, tuple[dict[str, int], dict[str, int], dict[str, list[str]]]] = {
    "equal": ({"a/b": 4}, {"a/b": 4, "b": 4}, {"a/b": ["a/b"]}),
    "underscores": ({"a_b_c": 4}, {"a/b.c": 4, "b_c": 4}, {"a_b_c": ["a/b.c"]}),
    "the last parts": ({"b_c": 4}, {"a/b/c": 4, "a/c": 4}, {"b_c": ["a/b/c"]}),
    "not a part of a part": ({"c": 4}, {"a/b_c": 4}, {}),
    "more parts count more": ({"c": 4}, {"c": 4, "a/c": 4}, {"c": ["c"]}),
    "one each": ({"c": 4, "a_c": 4}, {"b/c": 4, "a/c": 4}, {"a_c": ["a/c"], "c": ["b/c"]}),
    "several": ({"c": 4}, {"a/c": 4, "b/c": 4}, {"c": ["a/c", "b/c"]}),
    "another width": ({"c": 4, "d": 0}, {"c": 3, "d": 7}, {"d": ["d"]}),
    "taken": ({"a_c": 4, "x_a_c": 4}, {"x/a/c": 4}, {"x_a_c": ["x/a/c"]}),
}


@pytest.mark.parametrize("case", NAMED)
def test_a_table_has_the_name_of_its_variable(case: str) -> None:
    tables, variables, expected = NAMED[case]
    assert variables_by_name(tables, variables) == expected


def test_slots_averages_and_parts_of_tables_are_no_variables(tmp_path: Path) -> None:
    alike = ["user", "user/Adagrad", "train/user/Adam_1", "user/ExponentialMovingAverage", "user/kernel-values"]
    shapes = {**{name: [3, 2] for name in alike}, "user/bias": [3], "step": [], "item": [0, 2], "item-keys": [5]}
    shapes |= {"item-values": [5, 2], "item-slots": [5, 2], "item-meta": [6], "old-values": [3, 2]}
    write_bundle(tmp_path / "saved", {name: np.zeros(shape, np.float32) for name, shape in shapes.items()})
    assert sorted(own_variables(Bundle(tmp_path / "saved"))) == ["old-values", "step", "user", "user/bias"]
