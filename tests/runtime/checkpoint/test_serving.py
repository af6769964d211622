"""A SavedModel serves lookups in a process that has nothing but TensorFlow and the op library, and changes no row."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import tensorflow as tf

import runtime
from runtime import native
from runtime.optimizers import adagrad
from tests.support.runtime.tables import make_table, rows_of, session

v1 = tf.compat.v1

_SERVE = """
import json, sys, tensorflow as tf
library, model = sys.argv[1:]
tf.load_op_library(library)
v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    signature = v1.saved_model.load(session, ["serve"], model).signature_def["serving_default"]
    ids, rows = signature.inputs["ids"].name, signature.outputs["rows"].name
    answers = [session.run([rows, signature.outputs["size"].name], {ids: [2, 1, 77]}) for _ in range(3)]
    print(json.dumps([[rows.tolist(), int(size)] for rows, size in answers]))
assert "runtime" not in sys.modules
"""

_C_PROGRAM = Path(__file__).parents[2] / "support" / "runtime" / "c_api.py"


def test_a_saved_model_serves_in_a_fresh_process(graph: tf.Graph, tmp_path: Path) -> None:
    table, ids = make_table(), v1.placeholder(tf.int64, [None])
    rows = runtime.sparse_lookup(table, ids, is_train=False)
    train = adagrad.create_hash_optimizer(0.1).minimize(tf.reduce_sum(runtime.sparse_lookup(table, [1, 2])))
    with session() as opened:
        opened.run(train)
        wanted = rows_of(opened, table, [2, 1, 77])
        outputs = {"rows": rows, "size": table.size()}
        v1.saved_model.simple_save(opened, str(tmp_path / "model"), {"ids": ids}, outputs)
    command = [sys.executable, "-c", _SERVE, str(native.LIBRARY), str(tmp_path / "model")]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    served = subprocess.run(command, capture_output=True, text=True, env=environment, check=True, cwd=tmp_path)
    for answer, size in json.loads(served.stdout):
        np.testing.assert_array_equal(np.float32(answer), wanted)  # 77 was never seen: its initial row
        assert size == 2


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
