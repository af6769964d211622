"""A SavedModel serves lookups in a process that has nothing but TensorFlow and the op library, and changes no row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import runtime
from runtime import native
from tests.support.runtime.tables import make_table

_C_PROGRAM = Path(__file__).parents[2] / "support" / "runtime" / "c_api.py"


def test_the_loader_of_cpp_serves_a_saved_model_once_it_has_the_library(tmp_path: Path) -> None:
    """It is what servers use that are not written in Python, here by the C API, in a process without TensorFlow's."""
    module = tf.Module()
    module.table = make_table()
    module.table.import_rows([1, 2], np.arange(8).reshape(2, 4))
    ids = tf.TensorSpec([None], tf.int64, name="ids")
    look_up = tf.function(lambda ids: {"rows": runtime.sparse_lookup(module.table, ids, is_train=False)}, [ids])
    tf.saved_model.save(module, str(tmp_path / "model"), signatures=look_up)
    wanted = look_up(tf.constant([1, 2, 77], tf.int64))["rows"]
    ends = ("serving_default_ids", "StatefulPartitionedCall")
    command = [sys.executable, str(_C_PROGRAM), str(tmp_path / "model"), *ends]
    with_library, without = (
        subprocess.run([*command, *library], capture_output=True, text=True) for library in ([str(native.LIBRARY)], [])
    )
    np.testing.assert_array_equal(np.float32(json.loads(with_library.stdout)).reshape(-1, 4), wanted)
    assert without.returncode == 1 and "Op type not registered 'Rec" in without.stderr
