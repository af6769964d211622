"""A SavedModel that was loaded and is saved again, as a SavedModel or a checkpoint, keeps its rows."""

from __future__ import annotations

import gc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from tests.support.runtime.tables import make_table

_IDS = tf.constant([1, 2, 3], tf.int64)
_ROWS = np.arange(12.0, dtype=np.float32).reshape(3, 4)


class _Model(tf.Module):  # type: ignore[misc]
    def __init__(self) -> None:
        super().__init__()
        self.table = make_table()

    @tf.function(input_signature=[tf.TensorSpec([None], tf.int64)])  # type: ignore[untyped-decorator]
    def serve(self, ids: tf.Tensor) -> tf.Tensor:
        return runtime.sparse_lookup(self.table, ids, is_train=False)


@pytest.fixture
def loaded(tmp_path: Path) -> Any:
    """Load a SavedModel of three rows."""
    model = _Model()
    model.table.import_rows(_IDS, _ROWS)
    tf.saved_model.save(model, str(tmp_path / "first"))
    return tf.saved_model.load(str(tmp_path / "first"))


def test_as_a_saved_model(loaded: Any, tmp_path: Path) -> None:
    tf.saved_model.save(loaded, str(tmp_path / "second"))
    gc.collect()
    np.testing.assert_array_equal(loaded.serve(_IDS), _ROWS)
    again = tf.saved_model.load(str(tmp_path / "second"))
    del loaded
    np.testing.assert_array_equal(again.serve(_IDS), _ROWS)


def test_a_signature_keeps_the_table_of_its_model(loaded: Any, tmp_path: Path) -> None:
    gc.collect()
    before = len(runtime.status().tables)
    serve = tf.saved_model.load(str(tmp_path / "first")).signatures["serving_default"]
    gc.collect()
    np.testing.assert_array_equal(serve(_IDS)["output_0"], _ROWS)
    del serve
    gc.collect()
    assert len(runtime.status().tables) == before
