"""Programs that leave sessions to Estimators: canned ones, their exports, evaluations, warm starts and hooks."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Setting, program

v1 = tf.compat.v1
WORDS = [f"word{number}" for number in range(12)]


def _columns(words: Path, buckets: int = 2) -> tuple[Any, Any]:
    column = tf.feature_column
    word = column.categorical_column_with_vocabulary_file("word", str(words), num_oov_buckets=buckets)
    user = column.categorical_column_with_identity("user", 20)
    return (
        [column.embedding_column(word, 3), column.embedding_column(user, 4)],
        [word, user, column.crossed_column(["word", "user"], 15)],
    )


def _given(repeat: int | None = None) -> Any:
    rows = range(16)
    features = {"word": [WORDS[n * 5 % 12] for n in rows], "user": [n * 3 % 20 for n in rows]}
    labels = [[n % 2] for n in rows]
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(repeat).batch(4)


def _once() -> Any:
    return _given(1)


def _serving() -> Any:
    shapes = {"word": tf.string, "user": tf.int64}
    receivers = {name: v1.placeholder(kind, [None], name=name) for name, kind in shapes.items()}
    return tf.estimator.export.ServingInputReceiver(receivers, receivers)


def _config(folder: Path, name: str) -> Any:
    return tf.estimator.RunConfig(
        str(folder / name), tf_random_seed=1, save_checkpoints_steps=4, log_step_count_steps=4
    )


def _state(estimator: Any) -> list[Any]:
    """Return what an estimator says of itself: names, values, an evaluation and predictions."""
    names = [name for name in estimator.get_variable_names() if "/part_" not in name]
    result = estimator.evaluate(_once)
    predicted = [one["logits"] for one in estimator.predict(lambda: _once().map(lambda given, _: given))]
    return [names, [estimator.get_variable_value(name) for name in names], result, predicted]


def _words(folder: Path, name: str = "words", order: int = 1) -> Path:
    (folder / name).write_text("\n".join(WORDS[::order]))
    return folder / name


@program
def wide_and_deep(setting: Setting) -> list[Any]:
    deep, wide = _columns(_words(setting.folder))
    estimator = v1.estimator.DNNLinearCombinedClassifier(
        _config(setting.folder, "model").model_dir,
        wide,
        "Ftrl",
        deep,
        "Adagrad",
        [4],
        config=_config(setting.folder, "model"),
    )
    estimator.train(_given, max_steps=6)
    values = _state(estimator)
    older = estimator.evaluate(_once, checkpoint_path=f"{estimator.model_dir}/model.ckpt-4")
    estimator.train(_given, max_steps=10)
    folder = estimator.export_saved_model(str(setting.folder / "export"), _serving)
    with tf.Graph().as_default(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], folder.decode() if isinstance(folder, bytes) else folder)
        served = session.run("add:0", {"word:0": WORDS[:2], "user:0": [1, 2]})
    return [*values, older, *_state(estimator), served]


@program
def evaluated_in_memory(setting: Setting) -> list[Any]:
    deep, _ = _columns(_words(setting.folder))
    estimator = v1.estimator.DNNClassifier([4], deep, optimizer="Adagrad", config=_config(setting.folder, "model"))
    seen: list[Any] = []

    class Sees(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
        def end(self, session: Any) -> None:
            seen.append(session.run(v1.trainable_variables()))

    hook = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _once, hooks=[Sees()], every_n_iter=2)
    estimator.train(_given, hooks=[hook], steps=4)
    return [seen, *_state(estimator)]
