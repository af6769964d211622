"""Programs for DeepRec, converted: what they compute on TensorFlow alone is what they did over DeepRec's façade."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support import forking
from tests.support.paths import ROOT

pytest.importorskip("tensorflow")
import numpy as np
import tensorflow as tensorflow

import runtime
from migrate.report.model import Applicability, State
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from runtime.compat import deeprec
from tests.support.source.idiom_proof import _PLACEHOLDERS, _imported, feeds
from tests.support.source.idiom_table import Idiom, idioms

tf = tensorflow.compat.v1
STEPS = 6
EXAMPLES = [one for one in idioms() if one.section == "deeprec" and one.converts]


@dataclass
class Run:
    """What a program showed: outputs and losses of its steps, and the rows before and after a save and at the end."""

    outputs: list[Any] = field(default_factory=list)
    losses: list[float] = field(default_factory=list)
    rows: list[dict[int, list[list[float]]]] = field(default_factory=list)

    def same(self, other: Run) -> bool:
        """True when not a bit differs."""
        outputs = zip(self.outputs, other.outputs, strict=True)
        return (self.losses, self.rows) == (other.losses, other.rows) and all(np.array_equal(a, b) for a, b in outputs)


@contextmanager
def _facade(installed: bool) -> Iterator[None]:
    if not installed:
        assert not hasattr(tf, "get_embedding_variable")
        yield
        return
    deeprec.install()
    try:
        yield
    finally:
        deeprec.uninstall()


def _run(name: str, text: str, directory: Path, facade: bool) -> Run:
    directory.mkdir()
    with _facade(facade), tf.Graph().as_default(), tf.Session() as session:
        tf.set_random_seed(7)
        with _imported({name: text}, directory, name) as module:
            given = {one: _PLACEHOLDERS[one]() for one in inspect.signature(module.build).parameters}
            fetches = module.build(**given)
        saver = tf.train.Saver()
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        run = Run()
        for step in range(STEPS):
            if step == 4:
                run.rows.append(_rows(session))
                saver.save(session, str(directory / "model"))
                run.rows.append(_rows(session))
            batch = feeds(step, every_row=False)
            out, loss, _ = session.run(fetches, {given[one]: batch[one] for one in given})
            run.outputs.append(out)
            run.losses.append(float(loss))
        run.rows.append(_rows(session))
    return run


def _rows(session: Any) -> dict[int, list[list[float]]]:
    """Return by their keys the rows of all tables, as these were made; parts of one variable have no key in common."""
    found: dict[int, list[list[float]]] = {}
    for keys, rows in session.run([table.snapshot()[:2] for table in runtime.tables()]):
        for key, row in zip(keys.tolist(), rows.tolist(), strict=True):
            found.setdefault(key, []).append(row)
    return found


def _both(idiom: Idiom, directory: Path, old: str = "", new: str = "") -> tuple[Run, Run]:
    text = idiom.path.read_text(encoding="utf-8")
    converted = idiom.converted(assume=False).files[0].data.decode()
    assert not old or old in converted
    want = _run(idiom.path.name, text, directory / "before", facade=True)
    return want, _run(idiom.path.name, converted.replace(old, new), directory / "after", facade=False)


@pytest.mark.parametrize("idiom", EXAMPLES, ids=lambda one: one.id)
@pytest.mark.one_case
def test_it_computes_the_same_bits(idiom: Idiom, tmp_path: Path) -> None:
    want, got = _both(idiom, tmp_path)
    assert len(set(want.losses)) == STEPS, "the losses must move, or it says nothing"
    assert want.rows[-1]
    before, after, _ = want.rows
    assert (len(after) < len(before)) == idiom.id.startswith("deeprec/evicted"), "saving drops rows, or does not"
    assert want.same(got)


WRONG = {
    "counter_filter": [("threshold=2", "threshold=1"), ("refused=0.25", "refused=0.5"), ("rows=7", "rows=8")],
    "bloom_filter": [("threshold=2", "threshold=3")],
    "evicted_by_step": [("steps_to_live=1", "steps_to_live=9")],
    "evicted_by_norm": [("least_norm=1.5", "least_norm=0.1")],
    "group_lookup": [('["sum", "mean"]', '["sum", "sum"]')],
    "embedding_column": [("GroupFtrlOptimizer(0.5", "tf.train.FtrlOptimizer(0.5")],
}


@pytest.mark.parametrize(("name", "old", "new"), [(name, *pair) for name, pairs in WRONG.items() for pair in pairs])
@pytest.mark.one_case
def test_a_conversion_that_says_something_else_is_noticed(name: str, old: str, new: str, tmp_path: Path) -> None:
    idiom = next(one for one in EXAMPLES if one.id == f"deeprec/{name}")
    want, got = _both(idiom, tmp_path, old, new)
    assert not want.same(got)


SCRIPTS = {
    "variable": """
import tensorflow as tf
from tensorflow.core.framework.embedding import config_pb2
with tf.device('/cpu:0'):
  storage_option = tf.StorageOption(storage_type=config_pb2.StorageType.DRAM_SSDHASH,
                                    storage_path="rows",
                                    storage_size=[128])
  ev_opt = tf.EmbeddingVariableOption(storage_option=storage_option)
  var = tf.get_embedding_variable("var_0",
                                  embedding_dim=3,
                                  initializer=tf.ones_initializer(tf.float32),
                                  ev_option=ev_opt)
  emb = tf.nn.embedding_lookup(var, tf.cast([0,1,2,5,6,7], tf.int64))
  loss = tf.reduce_sum(tf.multiply(emb, 2.0, name='multiply'), name='reduce_sum')
  opt = tf.train.AdagradOptimizer(0.1)
  train_op = opt.apply_gradients(opt.compute_gradients(loss))
  init = tf.global_variables_initializer()
sess_config = tf.ConfigProto(allow_soft_placement=True, log_device_placement=False)
with tf.Session(config=sess_config) as sess:
  sess.run([init])
  for _ in range(5):
    print("loss", sess.run([emb, train_op, loss])[2])
""",
    "column": """
import tensorflow as tf
from tensorflow.core.framework.embedding import config_pb2
from tensorflow.contrib.layers.python.layers import feature_column as contrib_columns
ev_opt = tf.EmbeddingVariableOption(storage_option=tf.StorageOption(
    storage_type=config_pb2.StorageType.DRAM_SSDHASH, storage_path="rows", storage_size=[128]))
columns = contrib_columns.sparse_column_wth_embedding("col_emb", dtype=tf.dtypes.int64, ev_option=ev_opt)
W = tf.feature_column.embedding_column(categorical_column=columns,
          dimension=3,
          initializer=tf.ones_initializer(tf.dtypes.float32))
ids = {}
ids["col_emb"] = tf.SparseTensor(indices=[[0,0],[1,1],[2,2],[3,3],[4,4]],
                                 values=tf.cast([1,2,3,4,5], tf.dtypes.int64), dense_shape=[5, 4])
emb = tf.feature_column.input_layer(ids, [W])
loss = tf.reduce_sum(tf.multiply(emb, 2.0))
opt = tf.train.AdagradOptimizer(0.1)
train_op = opt.apply_gradients(opt.compute_gradients(loss))
with tf.Session() as sess:
    sess.run(tf.global_variables_initializer())
    for _ in range(5):
        print("loss", sess.run([emb, train_op, loss])[2])
""",
    "monitored": """
import tensorflow as tf
step = tf.train.get_or_create_global_step()
table = tf.get_embedding_variable("table", 2, steps_to_live=2, initializer=tf.constant_initializer(0.5))
rows = tf.nn.embedding_lookup(table, [[3, 3], [4, -1]])
loss = tf.reduce_mean(tf.square(rows - 1.0))
train_op = tf.train.AdamAsyncOptimizer(learning_rate=0.1).minimize(loss, global_step=step)
seen = table.get_frequency([3, 4, 5])
with tf.train.MonitoredTrainingSession(checkpoint_dir="saved", save_checkpoint_steps=2) as sess:
    for _ in range(5):
        value = sess.run([loss, train_op])[0]
        print("loss", value, sess.run(seen))
""",
}
DRIVER = """
import contextlib, io, json, os, runpy, sys
import tensorflow as tf
found = {}
for path in sys.argv[2:]:
    os.chdir(os.path.dirname(path))
    if sys.argv[1] == "facade":
        from runtime.compat import deeprec
        tf.compat.v1.disable_v2_behavior()
        deeprec.install()
    tf.compat.v1.reset_default_graph() if not tf.executing_eagerly() else None
    with contextlib.redirect_stdout(io.StringIO()) as said:
        runpy.run_path(path, run_name="__main__")
    found[os.path.basename(path)] = [line for line in said.getvalue().splitlines() if line.startswith("loss")]
print("FOUND", json.dumps([found, "runtime.compat" in sys.modules, hasattr(tf, "get_embedding_variable")]))
"""


def _scripts(directory: Path, kind: str, texts: dict[str, str]) -> list[Any]:
    paths = []
    for name, text in texts.items():
        (directory / kind / name).mkdir(parents=True)
        paths.append(directory / kind / name / f"{name}.py")
        paths[-1].write_text(text)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [forking.python(), "-c", DRIVER, kind, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    line = next((line for line in done.stdout.splitlines() if line.startswith("FOUND ")), None)
    assert line is not None, done.stderr
    found: list[Any] = json.loads(line.removeprefix("FOUND "))
    return found


def test_whole_scripts_print_the_same_on_tensorflow_alone(tmp_path: Path) -> None:
    converted = {}
    for name, text in SCRIPTS.items():
        result = convert_text(f"{name}.py", text, Options(), {})
        assert {table.verdict for table in result.tables} == {State.APPLIED}, result.findings
        assert {table.applicability for table in result.tables} == {Applicability.EXACT}
        assert not [finding for finding in result.findings if finding.remains]
        converted[name] = result.converted
    want, *_ = _scripts(tmp_path, "facade", SCRIPTS)
    got, imported, patched = _scripts(tmp_path, "plain", converted)
    assert (imported, patched) == (False, False), "the converted programs need no façade"
    assert got == want
    assert [len(set(lines)) for lines in got.values()] == [5, 5, 5]
    known = {"variable": ["36.0", "32.444176", "29.91435"], "column": ["30.0", "27.036812", "24.928625"]}
    for name, losses in known.items():
        assert [line.removeprefix("loss ") for line in got[f"{name}.py"][:3]] == losses
