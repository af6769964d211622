"""Conversions to Rec SDK whose dataset sends the ids: run over its façade, compared with stock."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
from tests.support.standins import mx_rec
from tests.support.targets.programs import IN_SESSION, STEP, run_program
from tests.support.targets.runner import convert, words

HEAD = """import numpy as np
import tensorflow.compat.v1 as tf

tf.disable_eager_execution()
losses = []


def read():
    random = np.random.RandomState(3)
    ids = random.randint(20, size=(40, 3)).astype(np.int32)
    rows = {"ids": ids, "x": random.rand(40, 4).astype(np.float32), "label": random.rand(40).astype(np.float32)}
    return tf.data.Dataset.from_tensor_slices(rows).batch(8).prefetch(1)

"""
NETWORK = """
def network(batch):
{body}    return loss

"""
BODY = """    W = tf.get_variable("user", [20, 4], initializer=tf.constant_initializer(0.3))
    b = tf.get_variable("bias", [20], initializer=tf.zeros_initializer())
    kernel = tf.get_variable("kernel", [8, 1], initializer=tf.random_normal_initializer(seed=6))
    ids = batch["ids"]
    rows = tf.reduce_sum(tf.nn.embedding_lookup(W, ids, name="rows"), 1)
    out = tf.squeeze(tf.matmul(tf.concat([tf.tanh(rows), batch["x"]], 1), kernel), 1)
    out += tf.reduce_sum(tf.gather(b, indices=batch["ids"]), 1) + tf.reduce_mean(tf.gather(W, batch["ids"]), [1, 2])
    loss = tf.reduce_mean((out - batch["label"]) ** 2)
"""
#: A script with a plain session, and an iterator that it initializes.
SESSION = (
    HEAD
    + NETWORK
    + """
if __name__ == "__main__":
    iterator = tf.data.make_initializable_iterator(read())
    batch = iterator.get_next()
    loss = network(batch)
    {step}
"""
    + IN_SESSION
)


def program(kind: str, optimizer: str = "tf.train.AdagradOptimizer(0.3)", step: str = STEP) -> str:
    return kind.replace("{step}", step.replace("{optimizer}", optimizer)).replace("{body}", BODY)


def test_the_feature_has_the_threshold() -> None:
    result = convert(program(SESSION), "rec_sdk", admission=2)
    assert result.converted.count(", access_threshold=2)") == 3
    assert "access_and_evict_config" not in result.converted


def test_rare_ids_are_admitted_as_with_graph_modification(tmp_path: Path) -> None:
    text, losses = program(SESSION, "tf.train.GradientDescentOptimizer(0.5)"), []
    for switches in ({"admission": 2}, {"admission": 2, "modify_graph": True}):
        with mx_rec.installed():
            losses.append(run_program(convert(text, "rec_sdk", assume=True, **switches).converted, tmp_path))
    np.testing.assert_allclose(losses[0], losses[1], rtol=1e-6)
    assert not np.allclose(losses[0], run_program(text, tmp_path), rtol=1e-3)


READ, NEXT = '    ids = batch["ids"]', "    batch = iterator.get_next()\n"
BUILT = "    loss = network(batch)\n"
#: What must not be taken for a dataset that is seen whole: graph modification serves these.
OTHERWISE = {
    "ids that are computed": ('ids = batch["ids"]', 'ids = batch["ids"] + 0'),
    "the whole batch is read": (READ, READ + "\n    names = sorted(batch)"),
    "an entry is written": (READ, '    batch["ids"] = batch["ids"] * 1\n' + READ),
    "one batch or another": (NEXT, NEXT + "    if losses:\n        batch = spare()\n"),
    "a model that is built again": (BUILT, BUILT + "    if not losses and None:\n        network(batch)\n"),
    "a lookup under a condition": ('    rows = tf.reduce_sum(', '    if True:\n        rows = tf.reduce_sum('),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new"), OTHERWISE.values(), ids=OTHERWISE)
def test_what_is_not_seen_whole_modifies_the_graph(old: str, new: str) -> None:
    text = program(SESSION)
    assert old in text
    result = convert(text.replace(old, new), "rec_sdk", assume=True)
    assert "FeatureSpec" not in result.converted
    assert "modify_graph=True" in result.converted, words(result)
