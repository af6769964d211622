"""Programs that `migrate trace` runs: what their records hold, and how they end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from migrate.trace.record import Record, Use, Variable, load_record
from tests.support.command import migrate
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
import tensorflow as tf

weights = tf.Variable(tf.ones([9, 2]), name="weights")
optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
for number in range(1000):
    try:
        with tf.GradientTape() as tape:
            loss = tf.reduce_sum(tf.nn.embedding_lookup(weights, [number % 9]))
        optimizer.apply_gradients([(tape.gradient(loss, weights), weights)])
        print("step", flush=True)
    except:
        print("caught", flush=True)
    if WAITS:
        time.sleep(60)
"""
FIT = """
import numpy as np
import tensorflow as tf


class Model(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.rows = tf.keras.layers.Embedding(20, 4)
        self.last = tf.keras.layers.Dense(1)

    def call(self, ids, training=False):
        if training:
            rows = self.rows(ids)
        else:
            rows = self.rows(ids) * 2.0
        return self.last(rows)


model = Model()
model.compile("adam", "mse")
model.fit(np.arange(12), np.ones(12), batch_size=4, verbose=0)
raise ValueError("a fault of the program")
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "model.py").write_text(MODEL)
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "fit.py").write_text(FIT)
    return tmp_path


def traced(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "2"}
    command = [sys.executable, "-m", "migrate", "trace", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def variable(record: Record, name: str) -> Variable:
    return next(one for graph in record.graphs for one in graph.variables if one.name.endswith(name))


def kinds(variable: Variable) -> set[str]:
    return {use.kind for use in variable.uses}


def test_a_session_loop_that_a_shell_starts_is_ended_after_its_steps(folder: Path) -> None:
    command = ["sh", "-c", f"{sys.executable} -c 'print(1)' && exec {sys.executable} train.py"]
    done = traced(folder, "--steps", "3", "-o", "one.json", "--", *command)
    assert (done.returncode, done.stdout) == (0, "1\nstep\nstep\n"), done.stderr
    assert done.stderr.splitlines()[-2:] == [
        "wrote one.json: 3 variables, 3 training steps, ended after 3 steps",
        "looked-up variables that become tables in the graph: 1 of 1",
    ]
    record = load_record(folder / "one.json")
    (graph,) = record.graphs
    assert (graph.kind, graph.feeds, graph.fetches) == ("graph", ("ids:0",), ("Adagrad", "MatMul:0", "init"))
    users, items = variable(record, "users"), variable(record, "items")
    assert (users.made, users.trainable) == ((("model.py", 5), ("train.py", 6)), True)
    assert (users.table, users.optimizers, items.table, record.entry) == ("users", 1, "", "train.py")
    assert (folder / "one.graphs" / graph.graph).is_file()
    assert kinds(users) == {"assign", "lookup", "shape", "touch", "update"}
    adagrad = "tensorflow.python.training.adagrad.AdagradOptimizer"
    update = next(use for use in users.uses if use.kind == "update")
    assert (update.optimizer, update.at) == (adagrad, (("model.py", 12), ("train.py", 6)))
    at = (("model.py", 8), ("train.py", 6))
    assert Use("whole", "MatMul", "MatMul", at) in items.uses
    assert record.ran["model.py"] == (1, 4, 5, 6, 7, 8, 9, 10, 12, 13)
    assert record.ran["train.py"] == (*range(1, 3), *range(4, 12))
    assert sorted(record.files) == ["model.py", "train.py"]
    # The same run gives the same bytes.
    traced(folder, "--steps", "3", "-o", "two.json", "--", *command)
    assert (folder / "one.json").read_bytes() == (folder / "two.json").read_bytes()


def test_a_program_that_fails_leaves_a_record(folder: Path) -> None:
    """Its lines are its own also where AutoGraph ran other text in their place."""
    done = traced(folder, "--", sys.executable, "fit.py")
    assert done.returncode == 1
    said = "the program failed (by ValueError); the record has what it did until then"
    assert done.stderr.splitlines()[-1] == said
    record = load_record(folder / "trace.json")
    assert (record.steps, record.ended, [graph.kind for graph in record.graphs]) == (3, "by ValueError", ["eager"])
    rows = variable(record, "embeddings")
    assert kinds(rows) == {"assign", "lookup", "update"}
    assert {use.at[0] for use in rows.uses if use.kind == "lookup"} == {("fit.py", 14)}
    assert {14, 17} <= set(record.ran["fit.py"]) and 16 not in record.ran["fit.py"]
    assert all(use.optimizer.endswith(".Adam") for use in rows.uses if use.kind == "update")


def test_a_program_that_catches_its_end_is_ended_all_the_same(folder: Path) -> None:
    (folder / "stubborn.py").write_text(STUBBORN.replace("WAITS", "False"))
    done = traced(folder, "--steps", "2", "--", sys.executable, "stubborn.py")
    assert (done.returncode, done.stdout) == (0, "step\n" + "caught\n" * 3), done.stderr
    record = load_record(folder / "trace.json")
    weights = variable(record, "weights")
    assert (record.steps, record.ended, kinds(weights)) == (2, "after 2 steps", {"lookup", "update"})


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
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
    assert "lookup" in kinds(variable(record, "weights"))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["true"], "nothing was recorded: no Python process of the command made a TensorFlow variable"),
        ([sys.executable, "-c", "1 / 0"], "nothing was recorded: the program failed (exit code 1) before it made"),
        (["no-such-program"], "no-such-program: cannot be started (No such file or directory); write the command"),
    ],
)
def test_without_a_variable_there_is_no_record(tmp_path: Path, command: list[str], said: str) -> None:
    done = migrate(["trace", "--", *command], tmp_path)
    assert done.code == 2 and said in done.err
    assert not list(tmp_path.iterdir())


def test_the_directory_must_be_one(tmp_path: Path) -> None:
    done = migrate(["trace", "--root", "none", "--", "true"], tmp_path)
    assert (done.code, done.err) == (2, "migrate: none is not a directory; name the program's own by --root\n")


def test_a_program_that_sets_tf_config_itself(folder: Path) -> None:
    sets = "import os\nos.environ.setdefault('TF_CONFIG', '{}')\ndel os.environ['TF_CONFIG']\n"
    (folder / "train.py").write_text(sets + TRAIN)
    done = traced(folder, "--steps", "1", "-o", "set.json", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    assert load_record(folder / "set.json").environment["TF_CONFIG"] == "{}"
