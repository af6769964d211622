"""TensorFlow's own warm starts of scopes and patterns fill the tables there, or say that they do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.python.training import warm_starting_util

from runtime import checkpoint
from runtime.checkpoint.bundle import write_bundle
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1
_ROWS = np.arange(8.0, dtype=np.float32).reshape(2, 4)


def _build() -> tuple[Any, Any]:
    with v1.variable_scope("tower"):
        return make_table(), v1.get_variable("weight", [2])


@pytest.fixture
def saved(tmp_path: Path) -> str:
    """Save a table of two rows and a variable."""
    with tf.Graph().as_default():
        table, weight = _build()
        fill = [table.import_rows([1, 2], _ROWS), weight.assign([7.0, 8.0])]
        with session() as opened:
            opened.run(fill)
            return str(v1.train.Saver().save(opened, str(tmp_path / "model")))


def _check_filled(table: Any, weight: Any) -> None:
    with session() as opened:
        np.testing.assert_array_equal(rows_of(opened, table, [1, 2]), _ROWS)
        np.testing.assert_array_equal(opened.run(weight), [7, 8])


@pytest.mark.parametrize("mapped", [{"/": "/"}, {"tower/": "tower/"}, {"user": "user", "tower/weight": "tower/weight"}])
def test_scopes_and_names_fill_tables(graph: tf.Graph, saved: str, mapped: dict[str, str]) -> None:
    table, weight = _build()
    v1.train.init_from_checkpoint(saved, mapped)
    _check_filled(table, weight)


def test_a_stock_variable_of_the_name_is_no_table(graph: tf.Graph, tmp_path: Path) -> None:
    _build()
    path = str(tmp_path / "stock")
    write_bundle(path, {"user": _ROWS, "tower/weight": np.float32([7, 8])})
    with pytest.warns(RuntimeWarning, match="leaves out the table `user`"):
        v1.train.init_from_checkpoint(path, {"/": "/"})
    with pytest.raises(checkpoint.CheckpointError, match="fill the table `user` with"):
        warm_starting_util.warm_start(path, vars_to_warm_start=".*")


def test_a_vocabulary_says_which_rows_keys_get(graph: tf.Graph, saved: str, tmp_path: Path) -> None:
    """Keys 1 and 2 of the checkpoint have rows, the old word of key 0 has none, and `new` is in no old vocabulary."""
    for name, words in (("old", ["none", "one", "two"]), ("new", ["two", "new", "none", "one"])):
        (tmp_path / name).write_text("\n".join(words) + "\n")
    table, _ = _build()
    known = warm_starting_util.VocabInfo(str(tmp_path / "new"), 4, 1, str(tmp_path / "old"))
    warm_starting_util.warm_start(saved, "user", {"user": known})
    with session() as opened:
        zeros = np.zeros(4, np.float32)
        np.testing.assert_array_equal(
            rows_of(opened, table, [0, 1, 2, 3, 4]), [_ROWS[1], zeros, zeros, _ROWS[0], zeros]
        )
