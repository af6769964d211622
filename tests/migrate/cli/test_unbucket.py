"""`convert --unbucket`, then `checkpoint`: a trained program goes on without its buckets, and its ids part."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rewriter
from migrate.cli.main import cli
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import measure
from tests.support.source.converting import HEAD

tf = pytest.importorskip("tensorflow")

SESSION = """
import sys
import numpy as np
import tensorflow.compat.v1 as tf

WORDS, NUMBERS = 7, 5


def batches(count):
    for at in range(count):
        draw = np.random.RandomState(at)
        word = draw.randint(0, 12, 16)
        yield {
            "word:0": [f"w{one}" for one in word], "number:0": draw.randint(0, 40, 16),
            "label:0": (word % 2).astype(np.float32),
        }


def run(steps, restored="", saved=""):
    with tf.Graph().as_default():
        word = tf.placeholder(tf.string, [None], name="word")
        number = tf.placeholder(tf.int32, [None], name="number")
        label = tf.placeholder(tf.float32, [None], name="label")
        user = tf.get_variable("user", [WORDS, 4], initializer=tf.random_normal_initializer(seed=1))
        item = tf.get_variable("item", [NUMBERS, 4], initializer=tf.random_normal_initializer(seed=2))
        u = tf.nn.embedding_lookup(user, tf.strings.to_hash_bucket_fast(word, WORDS))
        i = tf.nn.embedding_lookup(item, number % NUMBERS)
        logit = tf.reduce_sum(u * i, axis=1)
        loss = tf.reduce_mean(tf.nn.sigmoid_cross_entropy_with_logits(labels=label, logits=logit))
        step = tf.train.AdamOptimizer(0.05).minimize(loss)
        saver = tf.train.Saver()
        with tf.Session() as session:
            session.run(tf.global_variables_initializer())
            if restored:
                saver.restore(session, restored)
            before = session.run(logit, next(batches(1)))
            losses = [session.run([loss, step], batch)[0] for batch in batches(steps)]
            if saved:
                saver.save(session, saved)
            known = {"word:0": [f"w{one}" for one in range(12)], "number:0": [1] * 12, "label:0": [0] * 12}
            return before, losses, session.run(logit, known)


if __name__ == "__main__":
    run(7)
"""


VOCABULARY = (
    SESSION.replace(
        "tf.strings.to_hash_bucket_fast(word, WORDS)", "tf.lookup.StaticVocabularyTable(known, 3).lookup(word)"
    )
    .replace(
        "        u = ",
        "        known = tf.lookup.KeyValueTensorInitializer(['w0', 'w1', 'w2', 'w3'], tf.range(4, dtype=tf.int64))\n"
        "        u = ",
    )
    .replace(
        "run(tf.global_variables_initializer())", "run([tf.global_variables_initializer(), tf.tables_initializer()])"
    )
)
PROGRAMS = pytest.mark.parametrize("program", [SESSION, VOCABULARY], ids=["hashes", "vocabulary"])


#: It reads buckets by the names of ops that make them and hand them on.
NAMED = (
    SESSION.replace("bucket_fast(word, WORDS)", "bucket_fast(word, WORDS, name='bucket')")
    .replace("number % NUMBERS", "tf.identity(tf.cast(number, tf.int64) % NUMBERS, 'numbered')")
    .replace("session.run(logit, next", "session.run([logit, 'bucket:0', 'numbered:0'], next")
)


def load(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def migrate(*arguments: str) -> str:
    result = CliRunner().invoke(cli, list(arguments))
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def converted(folder: Path, program: str) -> tuple[Path, Path]:
    """Return the paths of a program and of its conversion, whose report lies beside them."""
    path = folder / "program.py"
    path.write_text(program)
    migrate("convert", str(path), "-o", str(folder / "out"), "--unbucket", "all", "--report", str(folder / "r.json"))
    return path, next((folder / "out").rglob("program.py"))


@PROGRAMS
def test_a_session_goes_on_from_its_checkpoint_and_ids_part(tmp_path: Path, program: str) -> None:
    original, free = map(load, converted(tmp_path, program))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    original.run(60, saved=old)
    output = migrate("checkpoint", old, new, "--report", str(tmp_path / "r.json"))
    assert "note: a new id of user begins with the row of its bucket\n" in output
    want, got = original.run(250, old), free.run(250, new)
    np.testing.assert_array_equal(got[0], want[0])
    assert got[1][0] == want[1][0] and got[1][1] != want[1][1]
    truth = np.arange(12) % 2
    assert ((want[2] > 0) == truth).mean() < 0.9
    assert ((got[2] > 0) == truth).mean() == 1.0


def test_buckets_are_read_by_their_names_as_before(tmp_path: Path) -> None:
    """The rewriter gives them, too, and ids part all the same."""
    original, free = map(load, converted(tmp_path, NAMED))
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    original.run(60, saved=old)
    migrate("checkpoint", old, new, "--report", str(tmp_path / "r.json"))
    want, got = original.run(9, old), free.run(9, new)
    installed = rewriter.install(settings={"*": {"unbucket": True}})
    try:
        in_graph = original.run(9, old)
    finally:
        installed.remove()
    for other in (got, in_graph):
        for one, expected in zip(other[0], want[0], strict=True):
            np.testing.assert_array_equal(one, expected)
        assert other[1][-1] != want[1][-1]


@PROGRAMS
def test_the_proof_has_an_equal_first_step_and_says_what_differs(tmp_path: Path, program: str) -> None:
    original, free = converted(tmp_path, program)
    pair = measure(str(original), str(free), Settings(steps=4, batches=2))
    verdicts = {(one.stage, one.name): one for one in pair.comparisons()}
    assert {one.verdict for (stage, _), one in verdicts.items() if stage != "optimizer"} == {"equal"}
    assert ("gradient", "user [table]") in verdicts
    losses = verdicts["optimizer", "loss Mean:0"]
    assert losses.verdict == "equal" and len(losses.series[0].original) == 1, "later steps are not compared"
    shared = {one.verdict for (_, name), one in verdicts.items() if name.endswith("[ids that shared a bucket]")}
    assert shared == {"changes-values"}
    assert all(
        one.verdict == "equal" for (_, name), one in verdicts.items() if name in ("user [table]", "item [table]")
    )
    assert any("each id of `user`, `item` has a row of its own" in note for note in pair.notes)


def test_a_name_that_no_converted_table_has_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text(HEAD + "x = 1\n")
    result = CliRunner().invoke(cli, ["check", str(tmp_path / "m.py"), "--unbucket", "user"])
    assert "--unbucket user: no table of that name converts; none does" in f"{result.output}{result.exception}"
    (tmp_path / "m.py").write_text(SESSION)
    result = CliRunner().invoke(cli, ["check", str(tmp_path / "m.py"), "--unbucket", "users"])
    assert "--unbucket users: no table of that name converts; those that do are item, user" in (
        f"{result.output}{result.exception}"
    )


def test_a_program_of_another_sdk_is_told_of_its_facade(tmp_path: Path) -> None:
    path = tmp_path / "m.py"
    path.write_text(HEAD + "user = tf.get_embedding_variable('user', 4)\nx = tf.nn.embedding_lookup(user, ids)\n")
    words = "give `migrate run --settings` a file with `unbucket: true`"
    assert f"note: {path}: " in (said := CliRunner().invoke(cli, ["check", str(path), "--unbucket", "all"]).output)
    assert words in said
    assert "façade" not in CliRunner().invoke(cli, ["check", str(path)]).output.partition("findings:")[2]
    result = CliRunner().invoke(cli, ["check", str(path), "--unbucket", "user"])
    assert f"--unbucket user: no table of that name converts; none does; {words}"[:60] in str(result.exception)
    assert words in str(result.exception)
