"""Programs that `migrate trace` runs: what their records hold, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migrate.trace.record import Record, Variable, load_record
from tests.support.paths import ROOT

MODEL = """import tensorflow.compat.v1 as tf


def build(ids):
    users = tf.get_variable("users", [50, 4], initializer=tf.truncated_normal_initializer(stddev=0.1))
    items = tf.get_variable("items", [50, 4], use_resource=False)
    rows = tf.nn.embedding_lookup(users, ids)
    scores = tf.matmul(rows, items, transpose_b=True)
    loss = tf.reduce_mean(scores)
    if ids is None:
        loss = loss * 2.0
    step = tf.train.AdagradOptimizer(0.1).minimize(loss, var_list=[users])
    return step, scores
"""
TRAIN = """import tensorflow.compat.v1 as tf
from model import build

tf.disable_eager_execution()
ids = tf.placeholder(tf.int64, [None], name="ids")
step, scores = build(ids)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for _ in range(9):
        session.run([step, scores], {ids: [1, 2]})
        print("step")
    print("end")
"""
STUBBORN = """
import time
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
weights = tf.get_variable("weights", [9, 2])
loss = tf.reduce_sum(tf.nn.embedding_lookup(weights, [1]))
step = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
session = tf.Session()
session.run(tf.global_variables_initializer())
for number in range(1000):
    try:
        session.run(step)
        print("step", flush=True)
    except:
        print("caught", flush=True)
    if WAITS:
        time.sleep(60)
"""
FIT = """
import numpy as np
import tensorflow as tf

told = tf.keras.callbacks.LambdaCallback(on_batch_end=lambda batch, logs: print("batch", flush=True))
model = tf.keras.Sequential([tf.keras.layers.Embedding(20, 4), tf.keras.layers.Dense(1)])
stays = tf.keras.layers.Embedding(9, 4, embeddings_constraint="non_neg")
stays(np.arange(3))
model.compile("adam", "mse")
model.fit(np.arange(12), np.ones(12), batch_size=4, verbose=0, callbacks=[told])
raise ValueError("a fault of the program")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "fit.py").write_text(FIT)
    return tmp_path


def traced(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that cannot import TensorFlow: that of the program, which has it, is to judge."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    without = "import sys; sys.modules['tensorflow'] = None; from migrate.cli.main import main; main()"
    command = [sys.executable, "-c", without, "trace", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def variable(record: Record, name: str) -> Variable:
    return next(one for graph in record.graphs for one in graph.variables if one.name.endswith(name))


def test_a_model_of_keras_is_ended_after_its_steps_and_its_layers_are_recorded(folder: Path) -> None:
    done = traced(folder, "--steps", "2", "--", sys.executable, "fit.py")
    assert (done.returncode, done.stdout) == (0, "batch\n"), done.stderr
    record = load_record(folder / "trace.json")
    (graph,) = record.graphs
    first, second = sorted(graph.variables, key=lambda one: -one.shape[0])  # Keras 3 builds the second one first
    assert (first.shape, first.table, first.stays) == ((20, 4), first.name, "")
    assert first.name.endswith("embedding/embeddings")
    assert (first.created[0], second.created[0]) == (("fit.py", 6), ("fit.py", 7))
    assert (second.table, "constraint" in second.stays) == ("", True)


def test_a_command_that_is_no_program_of_tensorflow_is_told_so(folder: Path) -> None:
    done = traced(folder, "--", "ls")
    assert (done.returncode, done.stdout) == (2, "fit.py\nmodel.py\ntrain.py\n")
    assert "nothing was recorded: no Python process of the command imported TensorFlow; give" in done.stderr


@pytest.mark.soak
def test_a_program_that_catches_its_end_is_ended_all_the_same(folder: Path) -> None:
    (folder / "stubborn.py").write_text(STUBBORN.replace("WAITS", "False"))
    done = traced(folder, "--steps", "2", "--", sys.executable, "stubborn.py")
    assert (done.returncode, done.stdout) == (0, "step\n" + "caught\n" * 3), done.stderr
    record = load_record(folder / "trace.json")
    weights = variable(record, "weights")
    assert (record.steps, record.ended, weights.table) == (2, "after 2 steps", "weights")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
@pytest.mark.one_case
@pytest.mark.soak
def test_a_program_that_is_killed_leaves_its_first_step(folder: Path, number: signal.Signals) -> None:
    (folder / "stubborn.py").write_text("import os\nprint(os.getpid(), flush=True)" + STUBBORN.replace("WAITS", "True"))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-m", "migrate", "trace", "--", sys.executable, "stubborn.py"]
    process = subprocess.Popen(
        command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    program = int(process.stdout.readline())
    assert process.stdout.readline() == "step\n"
    time.sleep(0.5)  # the next step waits
    os.kill(program, number)
    _, errors = process.communicate()
    record = load_record(folder / "trace.json")
    assert (process.returncode, record.steps, record.ended) == (1, 1, f"by {number.name}"), errors
    assert variable(record, "weights").table == "weights"


@pytest.mark.soak
def test_a_program_that_sets_tf_config_itself(folder: Path) -> None:
    sets = "\nimport os\nos.environ.setdefault('TF_CONFIG', '{}')\ndel os.environ['TF_CONFIG']\n"
    (folder / "train.py").write_text(TRAIN.replace("\n", sets, 1))
    done = traced(folder, "--steps", "1", "-o", "set.json", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    assert load_record(folder / "set.json").environment["TF_CONFIG"] == "{}"
