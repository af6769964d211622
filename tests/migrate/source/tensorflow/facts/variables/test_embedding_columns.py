"""Models whose tables are embedding columns: converted, run in a session and an Estimator, compared with stock."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.source.converting import converted, moves, stays

tf = pytest.importorskip("tensorflow").compat.v1
HEAD = "import tensorflow as tf2\nimport tensorflow.compat.v1 as tf\nfc = tf.feature_column\n"
COLUMNS = """
def columns():
    start = tf.constant_initializer(0.2)
    user = fc.categorical_column_with_hash_bucket("user", 40)
    seen, item = (fc.categorical_column_with_identity(key, 30) for key in ("seen", "item"))
    crossed = fc.crossed_column(["user", "item"], 100)
    shared = fc.shared_embedding_columns([seen, item], 5, combiner="sum", initializer=tf.constant_initializer(0.1))
    own = [fc.embedding_column(user, 4, initializer=start), fc.embedding_column(crossed, 3, initializer=start)]
    return own + shared + [fc.numeric_column("age")]
"""
SCRIPT = (
    HEAD
    + COLUMNS
    + """
def build_model(features, labels):
    inputs = fc.input_layer(features, columns())
    kernel = tf.get_variable("kernel", [inputs.shape[1], 1], initializer=tf.ones_initializer())
    loss = tf.reduce_mean(tf.square(tf.matmul(inputs, kernel) - labels))
    return loss, tf.train.{optimizer}.minimize(loss, tf.train.get_or_create_global_step())
"""
)
ESTIMATOR = (
    HEAD
    + COLUMNS
    + """
def model_fn(features, labels, mode, params):
    inputs = fc.input_layer(features, params["columns"])
    kernel = tf.get_variable("kernel", [inputs.shape[1], 1], initializer=tf.ones_initializer())
    predictions = tf.matmul(inputs, kernel)
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.reduce_mean(tf.square(predictions - labels))
    train_op = None
    if mode == tf.estimator.ModeKeys.TRAIN:
        train_op = tf.train.AdagradOptimizer(0.1).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

def make(directory):
    return tf.estimator.Estimator(model_fn, directory, params={"columns": columns()})
"""
)


def batch(step: int, size: int = 8) -> tuple[dict[str, Any], Any]:
    random = np.random.RandomState(step)
    features = {
        "user": random.choice(list("abcdef"), (size, 2)),
        "seen": random.randint(-1, 30, (size, 3)),
        "item": random.randint(0, 30, (size, 1)),
        "age": random.rand(size, 1).astype(np.float32),
    }
    return features, random.rand(size, 1).astype(np.float32)


def steps(text: str) -> list[float]:
    with tf.Graph().as_default(), tf.Session() as session:
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)
        features, labels = batch(0)
        fed = {key: tf.placeholder(value.dtype if value.dtype != np.dtype("<U1") else tf.string, value.shape)
               for key, value in features.items()}  # fmt: skip
        target = tf.placeholder(tf.float32, labels.shape)
        loss, train = space["build_model"](fed, target)
        session.run([tf.global_variables_initializer(), tf.tables_initializer()])
        found = []
        for step in range(5):
            features, labels = batch(step)
            feed = {fed[key]: value for key, value in features.items()} | {target: labels}
            found.append(session.run([loss, train], feed)[0])
        return found


@pytest.mark.parametrize("optimizer", ["AdagradOptimizer(0.1)", "AdamOptimizer(0.05)", "GradientDescentOptimizer(0.1)"])
def test_a_script_trains_to_the_same_losses(optimizer: str) -> None:
    text = SCRIPT.replace("{optimizer}", optimizer)
    new = moves(text, 3)
    want = steps(text)
    np.testing.assert_allclose(steps(new), want, rtol=1e-5)
    assert len(set(np.round(want, 4))) == len(want)


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="this TensorFlow has no Estimator")
@pytest.mark.soak
def test_an_estimator_trains_evaluates_and_predicts_the_same(tmp_path: Path) -> None:
    result = converted(ESTIMATOR)
    assert result.changed

    def run(text: str, name: str) -> tuple[float, Any]:
        space: dict[str, Any] = {"__name__": "model"}
        exec(compile(text, "model.py", "exec"), space)

        def feed() -> Any:
            parts = [batch(step) for step in range(5)]
            features = {key: np.stack([f[key] for f, _ in parts]) for key in parts[0][0]}
            return tf.data.Dataset.from_tensor_slices((features, np.stack([labels for _, labels in parts])))

        with tf.Graph().as_default():
            estimator = space["make"](str(tmp_path / name))
            estimator.train(feed, steps=5)
            loss = estimator.evaluate(feed, steps=5)["loss"]
            return loss, np.array(list(estimator.predict(feed, yield_single_examples=True)))

    (want, predicted), (got, ours) = run(ESTIMATOR, "stock"), run(result.converted, "ours")
    assert got == pytest.approx(want, rel=1e-5)
    np.testing.assert_allclose(ours, predicted, rtol=1e-4)


COLUMN = "c = fc.categorical_column_with_identity('i', 9)\ne = fc.embedding_column(c, 4{arguments})\n{rest}\n"
READ = "x = fc.input_layer(features, [e])"
REFUSED = {
    "rows of a checkpoint": (", ckpt_to_load_from='m', tensor_name_in_ckpt='t'", READ, "warm_start"),
    "not trained": (", trainable=flag", READ, "may be False"),
    "stars": (", *more", READ, "cannot be read"),
    "orthogonal": (", initializer=tf.orthogonal_initializer()", READ, "row by row"),
    "list of variables": ("", "v = {}\nx = fc.input_layer(features, [e], cols_to_vars=v)", "cols_to_vars"),
    "collection of variables": (
        "",
        "x = fc.input_layer(features, [e], weight_collections=['a'])",
        "weight_collections",
    ),
    "input layer that is not trained": ("", "x = fc.input_layer(features, [e], trainable=False)", "may be False"),
    "canned": ("", "m = tf.estimator.LinearRegressor([e])", "canned"),
    "canned, in a dict": ("", "K = {'d': tf.estimator.DNNClassifier}\nm = K[kind]([8], [e])", "canned"),
    "canned, as a base": ("", "class Own(tf.estimator.DNNRegressor):\n    pass\nm = Own([8], [e])", "canned"),
    "canned, by its name": ("", "m = getattr(tf.estimator, kind)([8], [e])", "canned"),
}


@pytest.mark.parametrize(("arguments", "rest", "says"), REFUSED.values(), ids=REFUSED)
def test_what_stays_says_why(arguments: str, rest: str, says: str) -> None:
    for assume in (False, True):
        stays(HEAD + COLUMN.replace("{arguments}", arguments).replace("{rest}", rest), says, assume=assume)


def test_an_unknown_initializer_needs_an_assumption() -> None:
    text = HEAD + COLUMN.replace("{arguments}", ", initializer=start").replace("{rest}", READ)
    assert not converted(text).changed
    assert "embedding_column(c, 4, initializer=start)" in converted(text, assume=True).converted
