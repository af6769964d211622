"""Lists of all variables, however a program gets hold of them: a converted table leaves them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, judged, reasons, trains_alike, verdicts, write

pytest.importorskip("tensorflow")
MAIN = (
    HEAD
    + """import helper
def build():
    ids = tf.placeholder(tf.int64, [None])
    label = tf.placeholder(tf.float32, [None])
    W = tf.get_variable("w", [8, 3], initializer=tf.random_normal_initializer(stddev=0.3))
    D = tf.get_variable("d", [3, 1], initializer=tf.random_normal_initializer(stddev=0.3))
    e = tf.nn.embedding_lookup(W, ids)
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(tf.matmul(e, D), 1) - label)) + helper.decay(0.1)
    train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)
    return dict(ids=ids, label=label, loss=loss, train_op=train_op, rows=e)
"""
)
DECAY = "def decay(l2):\n    return l2 * sum(tf.nn.l2_loss(v) for v in tf.trainable_variables())\n"
COMPAT = "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\n"


def test_clipping_through_such_a_module_keeps_the_table(tmp_path: Path) -> None:
    clip = "def decay(l2):\n    return tf.add_n([tf.reduce_sum(tf.clip_by_value(v, -l2, l2)) for v in {}])\n"
    helper = "import compat\n" + clip.format("compat.tf.trainable_variables()").replace("tf.", "compat.tf.").replace(
        "compat.compat.", "compat."
    )
    results = convert(write(tmp_path, {"main.py": MAIN, "helper.py": helper, "compat.py": COMPAT}), assume=True)
    assert verdicts(results) == {"w": "unsupported"}, reasons(results)
    assert "uses all trainable variables" in reasons(results)


SUM = "sum(tf.nn.l2_loss(v) for v in {})\n"
#: How a helper gets at the list without calling the function by its name.
HANDED_ON = {
    "a default": "def decay(l2, get=tf.trainable_variables):\n    return l2 * " + SUM.format("get()"),
    "an entry": "F = {'v': tf.trainable_variables}\ndef decay(l2):\n    return l2 * " + SUM.format("F['v']()"),
    "by a text": "def decay(l2):\n    return l2 * " + SUM.format("getattr(tf, 'trainable_variables')()"),
}
#: Lists of all variables of which a helper does more than to take L2 of each, or to print it.
REFUSED = {
    "those with a name": "def decay(l2):\n    return l2 * "
    + SUM.format("tf.trainable_variables() if 'b' not in v.name"),
    "names": "def decay(l2):\n    return l2 * len({v.name for v in tf.global_variables()})\n",
    "partial": "import functools\nget = functools.partial(tf.get_collection, 'trainable_variables')\n"
    "def decay(l2):\n    return l2 * " + SUM.format("get()"),
    "a key that is passed as a text": "def of(key):\n    return "
    + SUM.format("tf.get_collection(key)").replace("\n", "")
    + "\ndef decay(l2):\n    return l2 * of('variables')\n",
    "a module made": "import importlib\nk = importlib.import_module('tensorflow.compat.v1')\ndef decay(l2):\n"
    "    return l2 * " + SUM.format("k.trainable_variables()").replace("tf.nn", "k.nn"),
    "a list of them": "def decay(l2):\n    kept = []\n    for v in tf.global_variables():\n"
    "        kept.append(v)\n    return l2 * " + SUM.format("kept"),
}


@pytest.mark.parametrize("helper", HANDED_ON.values(), ids=HANDED_ON)
def test_a_list_that_is_handed_on_keeps_the_table(helper: str, tmp_path: Path) -> None:
    judged(tmp_path, {"main.py": MAIN, "helper.py": HEAD + helper}, {"w": "unsupported"}, "passes on", assume=True)


@pytest.mark.parametrize("helper", REFUSED.values(), ids=REFUSED)
def test_a_list_that_is_not_understood_keeps_the_table(helper: str, tmp_path: Path) -> None:
    judged(tmp_path, {"main.py": MAIN, "helper.py": HEAD + helper}, {"w": "unsupported"}, "variables", assume=True)


def test_a_module_that_is_a_parameter_may_be_tensorflow(tmp_path: Path) -> None:
    files = {"main.py": MAIN.replace("decay(0.1)", "decay(tf, 0.1)"), "helper.py": DECAY.replace("(l2)", "(tf, l2)", 1)}
    assert verdicts(convert(write(tmp_path, files), assume=True)) == {"w": "unsupported"}


def test_the_list_of_an_object_that_is_not_known_keeps_the_table(tmp_path: Path) -> None:
    helper = HEAD + "def decay(l2, model=None):\n    return l2 if model is None else use(model.trainable_variables)\n"
    results = convert(write(tmp_path, {"main.py": MAIN, "helper.py": helper}), assume=True)
    assert verdicts(results) == {"w": "unsupported"}, reasons(results)
    assert "passes on `model.trainable_variables`, which lists variables" in reasons(results)


def test_variables_of_a_layer_are_no_list_of_all(tmp_path: Path) -> None:
    helper = HEAD + (
        "def decay(l2):\n    layer = tf.layers.Dense(2)\n    layer.build([None, 3])\n"
        "    return l2 * sum(tf.nn.l2_loss(v) for v in layer.trainable_variables)\n"
    )
    trains_alike(tmp_path / "p", {"main.py": MAIN, "helper.py": helper}, tables=["w"])


#: Keys of collections: whether each may be one of the variables.
KEYS = {
    "all keys": (
        "for key in tf.get_default_graph().get_all_collection_keys():\n        t = tf.get_collection(key)",
        True,
    ),
    "a key of a caller that is not seen": ("t = tf.get_collection(l2)", True),
    "an end that is not known": ("t = tf.get_collection(f'trainable_{l2}')", True),
    "another start": ("t = tf.get_collection('own_%s' % l2 + 'losses')", False),
    "a key with a name": ("KEY = 'own'\n    t = tf.get_collection(KEY)", False),
    "the losses": ("t = tf.get_collection(tf.GraphKeys.LOSSES)", False),
}


@pytest.mark.parametrize(("code", "doubt"), KEYS.values(), ids=KEYS)
def test_a_key_that_is_computed_is_a_doubt(code: str, doubt: bool, tmp_path: Path) -> None:
    helper = HEAD + f"def decay(l2):\n    {code}\n    return 0.0\n"
    handed = "import acme\nacme.call_with_keys(decay)\n" if "(l2)" in code else ""
    root = write(tmp_path, {"main.py": MAIN, "helper.py": helper + handed})
    results = convert(root)
    assert verdicts(results) == {"w": "suggested" if doubt else "applied"}, reasons(results)
    assert ("may list variables" in reasons(results)) is doubt
    assert verdicts(convert(root, assume=True)) == {"w": "applied"}
