"""Snapshot, import, upsert and reset ops."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from tests.support.raw_table import RawTable, update

INVALID = tf.errors.InvalidArgumentError


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"keys": [1, 2, 1]}, "key 1 twice"),
        ({"keys": [1, 2]}, r"values has shape \[3, 2\]; it must be \[2, 2\]"),
        ({"values": np.zeros([3, 3], np.float32)}, r"values has shape \[3, 3\]; it must be \[3, 2\]"),
        ({"slots": np.zeros([3, 4], np.float32)}, r"slots has shape \[3, 4\]; it must be \[3, 2\]"),
        ({"meta": [1, 7, 5, 1, 2, 0]}, "are 5 wide; the table's dim is 2"),
        ({"meta": [1, 7, 2, 2, 2, 0]}, "2 slots per row; optimizer adagrad has 1"),
        ({"meta": [9, 7, 2, 1, 2, 0]}, "format 9"),
        ({"meta": []}, "0 entries"),
    ],
)
def test_rows_that_do_not_fit_are_refused_whole(table: RawTable, change: dict[str, Any], message: str) -> None:
    update(table, "adagrad", [1, 2, 3], np.ones([3, 2]))
    before = table.run("rec_table_snapshot")
    rows = before._asdict() | change
    rows["keys"], rows["meta"] = np.asarray(rows["keys"], np.int64), np.asarray(rows["meta"], np.int64)
    with pytest.raises(INVALID, match=message):
        table.run("rec_table_import", *rows.values())
    for got, wanted in zip(table.run("rec_table_snapshot"), before, strict=True):
        np.testing.assert_array_equal(got, wanted)
