"""A program that leaves its sessions to a canned Estimator, which is evaluated in between."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Setting, program

v1 = tf.compat.v1
WORDS = [f"word{number}" for number in range(12)]


def _columns(words: Path) -> list[Any]:
    column = tf.feature_column
    word = column.categorical_column_with_vocabulary_file("word", str(words), num_oov_buckets=2)
    user = column.categorical_column_with_identity("user", 20)
    return [column.embedding_column(word, 3), column.embedding_column(user, 4)]


def _given(repeat: int | None = None) -> Any:
    rows = range(16)
    features = {"word": [WORDS[n * 5 % 12] for n in rows], "user": [n * 3 % 20 for n in rows]}
    labels = [[n % 2] for n in rows]
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat(repeat).batch(4)


def _once() -> Any:
    return _given(1)


def _state(estimator: Any) -> list[Any]:
    """Return what an estimator says of itself: names, values, an evaluation and predictions."""
    names = [name for name in estimator.get_variable_names() if "/part_" not in name]
    result = estimator.evaluate(_once)
    predicted = [one["logits"] for one in estimator.predict(lambda: _once().map(lambda given, _: given))]
    return [names, [estimator.get_variable_value(name) for name in names], result, predicted]


@program
def evaluated_in_memory(setting: Setting) -> list[Any]:
    words = setting.folder / "words"
    words.write_text("\n".join(WORDS))
    config = tf.estimator.RunConfig(
        str(setting.folder / "model"), tf_random_seed=1, save_checkpoints_steps=4, log_step_count_steps=4
    )
    estimator = v1.estimator.DNNClassifier([4], _columns(words), optimizer="Adagrad", config=config)
    seen: list[Any] = []

    class Sees(tf.compat.v1.train.SessionRunHook):  # type: ignore[misc]
        def end(self, session: Any) -> None:
            seen.append(session.run(v1.trainable_variables()))

    hook = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _once, hooks=[Sees()], every_n_iter=2)
    estimator.train(_given, hooks=[hook], steps=4)
    return [seen, *_state(estimator)]
