"""`convert --unbucket`, then `checkpoint`: trained sessions and Estimators go on without buckets, and ids part."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rewriter
from migrate.cli.main import cli
from migrate.verify.settings import Settings
from migrate.verify.tensorflow.pair import measure
from tests.support.programs import imported
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
    original, free = map(imported, converted(tmp_path, program))
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
    original, free = map(imported, converted(tmp_path, NAMED))
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


ESTIMATORS = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no Estimator")

WORDS, BUCKETS, ALL = 6, 5, 40
ESTIMATOR = """
import numpy as np
import tensorflow as tf2
import tensorflow.compat.v1 as tf

WORDS, BUCKETS, ALL = 6, 5, 40
FILE = "words.txt"


def model_fn(features, labels, mode):
    column = tf.feature_column.categorical_column_with_vocabulary_file(
        "word", FILE, vocabulary_size=WORDS, num_oov_buckets=BUCKETS
    )
    rows = tf.feature_column.input_layer(features, [tf.feature_column.embedding_column(column, 4)])
    logits = tf.layers.dense(rows, 1, name="logits")
    predictions = {"logits": logits}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions)
    loss = tf.reduce_mean((logits - tf.expand_dims(labels, 1)) ** 2)
    step = tf.train.AdagradOptimizer(0.3).minimize(loss, global_step=tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, predictions, loss, step)


def batches():
    words = np.array([f"w{number}" for number in range(ALL)])
    data = {"word": words[:, None]}, (np.arange(ALL) % 2).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(data).repeat(50).batch(ALL)


def model(folder):
    return tf.estimator.Estimator(model_fn, folder, tf.estimator.RunConfig(tf_random_seed=1))


def predicted(estimator, path=None):
    return np.array([one["logits"][0] for one in estimator.predict(batches, checkpoint_path=path)])[:ALL]


if __name__ == "__main__":
    model("run").train(batches)
"""


def served(path: bytes, words: Any) -> Any:
    """Return what a SavedModel that parses examples answers for words."""
    entry = [
        tf.train.Example(
            features=tf.train.Features(
                feature={"word": tf.train.Feature(bytes_list=tf.train.BytesList(value=[word.encode()]))}
            )
        ).SerializeToString()
        for word in words
    ]
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        meta = tf.compat.v1.saved_model.load(session, ["serve"], path.decode())
        signature = meta.signature_def["serving_default"]
        given = next(iter(signature.inputs.values())).name
        return session.run(signature.outputs["logits"].name, {given: entry})[:, 0]


def export(estimator: Any, folder: Path) -> bytes:
    spec = {"word": tf.io.FixedLenFeature([1], tf.string)}
    receiver = tf.estimator.export.build_parsing_serving_input_receiver_fn(spec)
    path: bytes = estimator.export_saved_model(str(folder), receiver)
    return path


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "words.txt").write_text("\n".join(f"w{number}" for number in range(WORDS)))
    (tmp_path / "train.py").write_text(ESTIMATOR)
    return tmp_path


def check(before: Any, moved: Any, after: Any, answers: Any) -> None:
    """Compare the predictions of the original, those at the move, those after training, and what is served."""
    np.testing.assert_array_equal(moved, before)
    assert len(np.unique(before)) <= WORDS + BUCKETS < len(np.unique(after))
    np.testing.assert_array_equal(answers, after)
    truth = np.arange(ALL) % 2
    assert ((before > 0.5) == truth).mean() < 0.9 and ((after > 0.5) == truth).mean() == 1


@ESTIMATORS
def test_by_conversion_of_source_and_checkpoint(folder: Path) -> None:
    original = imported(folder / "train.py")
    trained = original.model("run")
    trained.train(original.batches)
    before = original.predicted(trained)
    migrate("convert", "train.py", "-o", "out", "--unbucket", "all", "--report", "r.json")
    text = next((folder / "out").rglob("train.py"))
    assert "num_oov_buckets=Buckets(BUCKETS, WORDS).widest" in text.read_text()
    free = imported(text)
    free.model("like").train(free.batches, max_steps=1)  # which has the name of the column's table
    like, old = (tf.train.latest_checkpoint(name) for name in ("like", "run"))
    migrate("checkpoint", old, "moved/model.ckpt-50", "--report", "r.json", "--like", like)
    (folder / "moved" / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-50"\n')
    going_on = free.model("moved")
    moved = free.predicted(going_on)
    going_on.train(free.batches)
    after = free.predicted(going_on)
    check(before, moved, after, served(export(going_on, folder / "served"), [f"w{one}" for one in range(ALL)]))


@ESTIMATORS
def test_by_the_graph(folder: Path) -> None:
    """`migrate run` installs the same."""
    original = imported(folder / "train.py")
    trained = original.model("run")
    trained.train(original.batches)
    before = original.predicted(trained)
    installed = rewriter.install(settings={"*": {"unbucket": True}})
    try:
        moved = original.predicted(trained)
        trained.train(original.batches)
        after = original.predicted(trained)
        path = export(trained, folder / "served")
        answers = served(path, [f"w{one}" for one in range(ALL)])
    finally:
        installed.remove()
    check(before, moved, after, answers)
