"""Programs that `migrate trial` runs: what is found, printed and written, and how it ends."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrate.report.json_schema import schema_of
from migrate.trial.result import Trial
from tests.support import forking
from tests.support.command import Done, migrate
from tests.support.html_page import Page
from tests.support.json_schema import problems

#: A forked process has imported TensorFlow, and has run another `sitecustomize`.
ENTERED = "import sys\nsys.modules.pop('sitecustomize', None)\nimport sitecustomize\n"
TRAIN = f"""{ENTERED}import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
names, label = tf.placeholder(tf.string, [None]), tf.placeholder(tf.float32, [None])
users = tf.get_variable("users", [1000, 8])
words = tf.get_variable("words", [20, 8])
rows = tf.nn.embedding_lookup(users, tf.string_to_hash_bucket_fast(names, 1000))
scores = tf.matmul(rows + tf.nn.embedding_lookup(words, [1]), words, transpose_b=True)
loss = tf.reduce_mean((tf.reduce_sum(scores, 1) - label) ** 2)
step = tf.train.AdamOptimizer(0.1).minimize(loss)
saver = tf.train.Saver()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for number in range(100):
        drawn = np.random.randint(0, 800, 32)
        session.run(step, {{names: drawn.astype(str), label: drawn % 2}})
        path = saver.save(session, sys.argv[1] + "/model")
        saver.restore(session, tf.train.latest_checkpoint(sys.argv[1]))
        assert "migrate-trial" in path, path
open("written", "w").write("by the program")
"""


def trial(folder: Path, program: str, *arguments: str, options: tuple[str, ...] = ()) -> Done:
    work = folder / "work"
    work.mkdir()
    (work / "train.py").write_text(program)
    done = migrate(["trial", *options, "--", forking.python(), "train.py", *arguments], work)
    assert {path.name for path in work.iterdir()} == {"train.py", *options[1::2]}
    return done


def test_a_program_without_seeds_is_compared_and_left_alone(tmp_path: Path) -> None:
    """Its ids are hashed, one variable stays, and what it saves by an absolute path is saved elsewhere."""
    saved = tmp_path / "models"
    options = ("--json", "t.json", "--html", "t.html")
    work = tmp_path / "work"
    done = trial(tmp_path, TRAIN.replace("range(100)", "range(8)"), str(saved), options=options)
    assert done.code == 0, done.out + done.err
    assert not saved.exists() and not (work / "written").exists()
    words = " ".join(done.out.split())
    assert words.startswith(
        "yes, it trains the same; tables in the place of 1 of 2 embedding variables cannot grow yet (`new ids` "
    )
    assert all(len(line) <= 80 for line in done.out.splitlines() if "/" not in line), done.out
    assert "`migrate run -- " in words and "`words` stays a variable: MatMul" in words

    found = json.loads((work / "t.json").read_text())
    assert (found["format"], found["version"], found["verdict"], found["steps"]) == (
        "recmigrate-trial",
        1,
        "equal",
        [8, 8],
    )
    assert not list(problems(schema_of(Trial), found))
    (table,) = found["tables"]
    assert (table["name"], table["shape"], table["slots"], table["before"]) == ("users", [1000, 8], 2, 1000 * 8 * 4 * 3)
    assert table["rows"] == sorted(table["rows"]) and len(table["rows"]) == 8
    ids = table["ids"]
    assert ids["rows"] == table["rows"][-1] < ids["ids"] <= 8 * 32 and ids["sharing"] > ids["ids"] - ids["rows"]
    assert table["on_demand"] < table["after"]
    (losses,) = found["losses"]
    assert len(losses["original"]) == 8 and losses["original"][0] != losses["original"][-1]

    text = (work / "t.html").read_text()
    assert Page(text).values("role") and text.count("<svg") == 4 and "Yes, it trains the same" in text


def test_a_program_that_stops_with_tables_alone_is_told_so(tmp_path: Path) -> None:
    failing = TRAIN.replace("    for number", "    assert entry._installed is None\n    for number")
    failing = failing.replace("import numpy", "from rewriter.installation import entry\nimport numpy")
    done = trial(tmp_path, failing, str(tmp_path / "models"), options=("--steps=2",))
    assert done.code == 1, done.out + done.err
    assert " ".join(done.out.split()).startswith(
        "not yet: with tables the program stops after 0 steps, which it does not do without tables"
    )
    assert "AssertionError" in done.out


@pytest.mark.parametrize(
    ("command", "error"),
    [
        (["true"], "migrate: no Python process of the command imported TensorFlow; give the command that trains"),
        (
            ["sh", "-c", "echo Skipping training"],
            "the last lines that the program printed:\nSkipping training\nmigrate: no Python process",
        ),
        (
            [forking.python(), "-c", f"{ENTERED}import tensorflow"],
            "migrate: the program took no training step that a trial can see: by a session, by Keras' `fit`",
        ),
        (
            ["sh", "-c", "echo told; exit 5"],
            "printed:\ntold\nmigrate: the unchanged program fails before a training step (exit code 5); make it run",
        ),
        (["no-such-program"], "no-such-program: cannot be started (No such file or directory); write the command"),
    ],
)
@pytest.mark.one_case
def test_a_command_that_does_not_train_is_an_error(tmp_path: Path, command: list[str], error: str) -> None:
    done = migrate(["trial", "--", *command], tmp_path)
    assert done.code == 2 and error in done.err, done.err
    assert not list(tmp_path.iterdir())


LOOP = f"""{ENTERED}import numpy as np
import tensorflow as tf

embedding, dense = tf.keras.layers.Embedding(50, 4), tf.keras.layers.Dense(1)
optimizer = tf.keras.optimizers.Adam(0.1)

@tf.function
def step(ids):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((dense(embedding(ids)) - 1.0) ** 2)
    variables = embedding.trainable_variables + dense.trainable_variables
    optimizer.apply_gradients(zip(tape.gradient(loss, variables), variables))
    return loss

while True:
    step(tf.constant(np.random.randint(0, 50, 8)))
"""


def test_a_loop_of_ones_own_is_compared(tmp_path: Path) -> None:
    done = trial(tmp_path, LOOP, options=("--json", "t.json", "--steps=4"))
    assert done.code == 0, done.out + done.err
    found = json.loads((tmp_path / "work" / "t.json").read_text())
    assert (found["verdict"], found["steps"], [one["name"] for one in found["tables"]]) == (
        "equal",
        [4, 4],
        ["embedding/embeddings"],
    )
    (losses,) = found["losses"]
    assert losses["original"][3] < losses["original"][0] and found["tables"][0]["slots"] == 2
