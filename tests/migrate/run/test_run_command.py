"""Programs that `migrate run` runs: how they end, what is printed and recorded."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import migrate
from tests.support.paths import ROOT

TRAIN = """import sys
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
tf.set_random_seed(1)
ids = tf.placeholder(tf.int64, [None])
users = tf.get_variable("users", [50, 4])
items = tf.get_variable("items", [60, 4])
rows = tf.nn.embedding_lookup(users, ids) + tf.nn.embedding_lookup(items, ids)
loss = tf.reduce_mean((rows - 1) ** 2)
step = tf.train.AdagradOptimizer(0.1).minimize(loss)
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(3):
        print(session.run([loss, step], {ids: [1, 2, number]})[0])
sys.exit(7)
"""


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    command = [sys.executable, "-m", "migrate", "run", *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


def said(done: subprocess.CompletedProcess[str]) -> list[str]:
    return [line for line in done.stderr.splitlines() if line.startswith("migrate run: ")]


def test_a_program_trains_with_tables_and_keeps_its_exit_code(tmp_path: Path) -> None:
    """Also where a shell starts it, and with a proof, which has the first steps only."""
    (tmp_path / "train.py").write_text(TRAIN)
    program = ["sh", "-c", f"{sys.executable} train.py"]
    done = run(tmp_path, "--report", "run.json", "--verify", "2", "--tables", "users", "--", *program)
    assert (done.returncode, len(done.stdout.split())) == (7, 3), done.stderr
    lines = said(done)
    assert len(lines) == len(set(lines)) and any("users" in line for line in lines), lines
    assert not any("items [" in line for line in lines)
    assert "users" in (tmp_path / "run.json").read_text()


FORKS = """import multiprocessing
import os
import tensorflow

{train}
def idle():
    pass

for target in (train, idle):
    process = multiprocessing.get_context("fork").Process(target=target)
    process.start()
    process.join()
child = os.fork()
if child:
    os.waitpid(child, 0)
"""


@pytest.mark.soak
def test_forks_of_a_process_that_has_tensorflow_say_what_they_moved(tmp_path: Path) -> None:
    body = TRAIN.replace("sys.exit(7)\n", "").replace("import sys\n", "").splitlines()
    train = "\n".join(["def train():", *(f"    {line}" for line in body), ""])
    (tmp_path / "train.py").write_text(FORKS.format(train=train))
    done = run(tmp_path, "--verify", "1", "--", sys.executable, "train.py")
    assert done.returncode == 0, done.stderr
    summaries = [line.removeprefix("migrate run: ") for line in said(done) if "that stayed" in line]
    assert summaries == ["2 tables, 0 variables that stayed", "0 tables, 0 variables that stayed"], done.stderr


def test_a_process_that_only_started_the_one_with_tables_says_nothing(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    start = "import subprocess, sys, tensorflow\nsys.exit(subprocess.call([sys.executable, 'train.py']))\n"
    (tmp_path / "start.py").write_text(start)
    done = run(tmp_path, "--", sys.executable, "start.py")
    assert done.returncode == 7, done.stderr
    assert [line for line in said(done) if "that stayed" in line] == ["migrate run: 2 tables, 0 variables that stayed"]


@pytest.mark.parametrize(
    ("command", "code", "error"),
    [
        (["true"], 0, "no Python process of the command imported TensorFlow"),
        (["sh", "-c", "exit 5"], 5, "no Python process"),
        (["sh", "-c", "kill -TERM $$"], 143, "no Python process"),
        ([sys.executable, "-c", "print('none')"], 0, "no Python process"),
        (["no-such-program"], 2, "no-such-program: cannot be started (No such file or directory); write the command"),
    ],
)
def test_a_command_without_tensorflow_ends_as_it_does(
    tmp_path: Path, command: list[str], code: int, error: str
) -> None:
    done = migrate(["run", "--", *command], tmp_path)
    assert done.code == code and error in done.err, done.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("settings", "error"),
    [
        ("version: 2\ntables: {a: {}}", "tables.yaml: `version` is not 1"),
        ("version: 1", "`tables` is no mapping"),
        ("version: 1\ntables: {users: {max_byte: 1}}", "settings of `users`: unknown `max_byte`; use first_rows, "),
        ("version: 1\ntables: {users: {when_full: evict}}", "`when_full: evict` needs a limit: add `max_bytes`"),
        ("version: 1\ntables: {users: {disk: a, max_bytes: 1}}", "`max_bytes` and `disk` exclude each other"),
        ("version: 1\ntables: {users: {values: int8}}", "`values` is 'int8': use 'float32' or 'bfloat16' or 'float16'"),
        ("version: 1\ntables: {users: {values: float16}}", "with values: float16 training differs"),
    ],
)
def test_settings_that_cannot_be_end_before_the_program(tmp_path: Path, settings: str, error: str) -> None:
    (tmp_path / "tables.yaml").write_text(settings)
    result = migrate(["run", "--verify", "1", "--settings", "tables.yaml", "--", "touch", "began"], tmp_path)
    assert result.code == 2 and error in result.err, result.err
    assert not (tmp_path / "began").exists()


def test_settings_of_a_variable_that_the_program_does_not_have(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN.replace("sys.exit(7)\n", ""))
    (tmp_path / "tables.yaml").write_text("version: 1\ntables: {users: {unbucket: true}, 'a*': {}, user: {}}\n")
    done = run(tmp_path, "--settings", "tables.yaml", "--", sys.executable, "train.py")
    assert "settings of `user`: the program looks up no variable of this name" in done.stderr
    assert "use one of items, users" in done.stderr
    assert (done.returncode, len(done.stdout.split())) == (2, 3)


DEEPREC = """import importlib.util
import tensorflow as tf

tf1 = tf.compat.v1
words = tf1.placeholder(tf.string, [None])
ids = tf.strings.to_hash_bucket_fast(words, 11)
user = tf1.get_embedding_variable("user", embedding_dim=4, initializer=tf1.ones_initializer())
item = tf1.get_variable("item", [11, 4], initializer=tf1.random_normal_initializer(seed=1))
rows = tf.nn.embedding_lookup(user, ids) * tf.nn.embedding_lookup(item, ids)
step = tf1.train.AdagradOptimizer(0.1).minimize(tf.reduce_mean((tf.reduce_sum(rows, 1) - 1) ** 2))
with tf1.Session() as session:
    session.run(tf1.global_variables_initializer())
    fed = {words: [f"w{number}" for number in range(40)]}
    before = session.run(rows, fed)
    session.run(step, fed)
    print(len({tuple(row) for row in before}), len({tuple(row) for row in session.run(rows, fed)}))
"""


#: By façades: a program with a table of the SDK, or one with variables that imports the SDK.
UNDER_FACADES = {
    "deeprec": DEEPREC,
    "sok": "import sparse_operation_kit as sok\n" + DEEPREC,
    "mx_rec": "import mx_rec\n" + DEEPREC,
}


@pytest.mark.parametrize("sdk", UNDER_FACADES)
def test_a_program_of_another_sdk_gives_up_buckets_under_its_facade(sdk: str, tmp_path: Path) -> None:
    """The façade imports the runtime before TensorFlow. Its own variables look the buckets up, as before."""
    program = UNDER_FACADES[sdk]
    if sdk != "deeprec":
        stock = 'tf1.get_variable("user", [11, 4], initializer=tf1.ones_initializer(), trainable=False)'
        program = program.replace(
            'tf1.get_embedding_variable("user", embedding_dim=4, initializer=tf1.ones_initializer())', stock
        ).replace("tf1 = tf.compat.v1\n", "tf1 = tf.compat.v1\ntf1.disable_eager_execution()\n")
    (tmp_path / "train.py").write_text(program)
    names = "'*'" if sdk == "deeprec" else "item"
    (tmp_path / "tables.yaml").write_text(f"version: 1\ntables: {{{names}: {{unbucket: true}}}}\n")
    facade = [sys.executable, "-m", f"runtime.compat.{sdk}", "train.py"]
    done = run(tmp_path, "--settings", "tables.yaml", "--", *facade)
    assert done.returncode == 0, done.stderr
    assert any("item [11, 4]: 40 rows of 11 declared" in line for line in said(done)), done.stderr
    own = [line for line in said(done) if "`user` keeps the buckets of its ids" in line]
    assert bool(own) is (sdk == "deeprec") and all("the program creates this table itself" in line for line in own)
    buckets, after = map(int, done.stdout.split()[-2:])
    assert buckets <= 11 and after == buckets, done.stdout  # equal words of one bucket were trained alike


def test_a_program_that_asks_for_tensorflow_before_it_imports_it(tmp_path: Path) -> None:
    asks = 'import importlib.util\nassert importlib.util.find_spec("tensorflow") is not None\n'
    (tmp_path / "train.py").write_text(asks + TRAIN)
    done = run(tmp_path, "--", sys.executable, "train.py")
    assert done.returncode == 7 and any("users [50, 4]" in line for line in said(done)), done.stderr
