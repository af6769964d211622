"""An Estimator whose words are in a vocabulary file: trained, converted, its checkpoint moved, trained on, served."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import rewriter
from migrate.cli.main import cli

tf = pytest.importorskip("tensorflow")
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no Estimator")

WORDS, BUCKETS, ALL = 6, 5, 40
PROGRAM = """
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


def loaded(path: Path) -> Any:
    spec = importlib.util.spec_from_file_location("program", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


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
    (tmp_path / "train.py").write_text(PROGRAM)
    return tmp_path


def check(before: Any, moved: Any, after: Any, answers: Any) -> None:
    """Compare the predictions of the original, those at the move, those after training, and what is served."""
    np.testing.assert_array_equal(moved, before)
    assert len(np.unique(before)) <= WORDS + BUCKETS < len(np.unique(after))
    np.testing.assert_array_equal(answers, after)
    truth = np.arange(ALL) % 2
    assert ((before > 0.5) == truth).mean() < 0.9 and ((after > 0.5) == truth).mean() == 1


def migrate(*command: str) -> None:
    done = CliRunner().invoke(cli, command)
    assert done.exit_code == 0, (done.output, done.exception)


def test_by_conversion_of_source_and_checkpoint(folder: Path) -> None:
    original = loaded(folder / "train.py")
    trained = original.model("run")
    trained.train(original.batches)
    before = original.predicted(trained)
    migrate("convert", "train.py", "-o", "out", "--unbucket", "all", "--report", "r.json")
    text = next((folder / "out").rglob("train.py"))
    assert "num_oov_buckets=Buckets(BUCKETS, WORDS).widest" in text.read_text()
    free = loaded(text)
    free.model("like").train(free.batches, max_steps=1)  # which has the name of the column's table
    like, old = (tf.train.latest_checkpoint(name) for name in ("like", "run"))
    migrate("checkpoint", old, "moved/model.ckpt-50", "--report", "r.json", "--like", like)
    (folder / "moved" / "checkpoint").write_text('model_checkpoint_path: "model.ckpt-50"\n')
    going_on = free.model("moved")
    moved = free.predicted(going_on)
    going_on.train(free.batches)
    after = free.predicted(going_on)
    check(before, moved, after, served(export(going_on, folder / "served"), [f"w{one}" for one in range(ALL)]))


def test_by_the_graph(folder: Path) -> None:
    """`migrate run` installs the same."""
    original = loaded(folder / "train.py")
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
