"""Programs as strangers write them: without names, by turns, with a bare `except`, and those that cannot be run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from migrate.errors import MigrateError
from migrate.report.model import Verification
from migrate.source.settings.options import Options
from migrate.source.tensorflow.convert import convert
from migrate.verify import pair
from migrate.verify.settings import Settings
from tests.support.source.projects import write

SETTINGS = Settings(steps=3, batches=2)
MODEL = """
import numpy as np
import tensorflow as tf

def build():
    ids, y = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])
    first = tf.Variable(tf.random_normal([4, 4]))
    T = tf.Variable(tf.random_normal([30, 4]))
    second = tf.Variable(tf.random_normal([30, 4]))
    turns = tf.Variable(0, trainable=False)
    hidden = tf.matmul(tf.nn.embedding_lookup(T, ids), first) + second[0] * second[1]
    loss = tf.reduce_mean(tf.square(tf.reduce_sum(hidden * [1.0, 2.0, 3.0, 4.0], 1) - y))
    train = tf.train.AdamOptimizer(0.01).minimize(loss)
    return ids, y, tf.group(train, tf.assign_add(turns, 1))

def feed(ids, y, step):
    random = np.random.RandomState(step)
    return {ids: random.randint(30, size=8), y: random.rand(8)}
"""
MAIN = """
import sys
from model import build, feed
import tensorflow as tf

ids, y, train = build()
session = tf.Session()
session.run(tf.global_variables_initializer())
saver = tf.train.Saver()
try:
    for step in range(6):
        session.run(train, feed(ids, y, step))
        saver.save(session, save_path="here/model", global_step=step)
except:
    sys.exit(1)
"""


def proof(tmp_path: Path, files: Mapping[str, str], changed: Mapping[str, str]) -> Verification:
    """Verify `main.py` of files against the same with the changed ones."""
    write(tmp_path / "a", files)
    write(tmp_path / "b", {**files, **changed})
    return pair.verify(str(tmp_path / "a/main.py"), str(tmp_path / "b/main.py"), None, SETTINGS)


def converted(text: str = MODEL) -> str:
    return convert("model.py", text, Options(assume=True)).converted


def different(result: Verification) -> list[str]:
    return [f"{one.name}: {one.verdict}" for one in result.comparisons if one.verdict != "equal"]


def test_variables_that_were_numbered_anew_are_matched_by_order_and_it_is_said(tmp_path: Path) -> None:
    text = converted().replace('in_place_of="Variable"', "in_place_of=None")
    result = proof(tmp_path, {"main.py": MAIN, "model.py": MODEL}, {"model.py": text})
    assert not different(result)
    assert any("`Variable_1` is `Variable_2`, `Variable_2` is `Variable_3` of the original" in n for n in result.notes)
    assert "Variable_2/Adam" in {one.name for one in result.comparisons}


def test_rows_that_the_program_draws_as_a_matrix_have_its_law(tmp_path: Path) -> None:
    drawn = "init = tf.truncated_normal([30, 4], 0.0, 0.1)\n    T = tf.Variable(init)\n    init = tf.zeros([2])\n"
    model = MODEL.replace("T = tf.Variable(tf.random_normal([30, 4]))\n", drawn)
    text = converted(model)
    assert "table_of_rows(rows=init" in text
    wide = proof(
        tmp_path, {"main.py": MAIN, "model.py": model}, {"model.py": text.replace("4], 0.0, 0.1)", "4], 0.0, 0.4)")}
    )
    assert different(wide) == ["T [table]: differs"]


DROPOUT = "tf.layers.dropout(hidden, 0.5, training=tf.placeholder_with_default(True, []))"
NORMAL = "tf.cond(tf.placeholder_with_default({}, []), lambda: hidden + tf.random_normal([4]), lambda: hidden)"
LOOP = "tf.while_loop(lambda i, h: i < 2, lambda i, h: (i + 1, tf.nn.dropout(h, 0.5)), (0, hidden))[1]"


@pytest.mark.parametrize(
    ("drawn", "fed"),
    [(DROPOUT, True), (NORMAL.format(False), True), (NORMAL.format(True), False), (LOOP, False)],
    ids=["dropout", "not run", "normal", "loop"],
)
@pytest.mark.parametrize("flow", ["", "tf.enable_control_flow_v2()\n"], ids=["v1", "v2"])
@pytest.mark.one_case
def test_what_a_branch_draws_uniformly_is_the_same(drawn: str, fed: bool, flow: str, tmp_path: Path) -> None:
    model = MODEL.replace("import tensorflow as tf\n", f"import tensorflow as tf\n{flow}", 1)
    model = model.replace("    loss =", f"    hidden = {drawn}\n    loss =", 1)
    result = proof(tmp_path, {"main.py": MAIN, "model.py": model}, {"model.py": converted(model)})
    assert bool(different(result)) is not fed
    assert any("has random values that cannot be fed" in note for note in result.notes) is not fed


#: Another model that trains by turns with the first, from what is fed to neither of its placeholders.
TURNS = """
import tensorflow as tf
from model import build, feed

with tf.variable_scope("other"):
    x = tf.placeholder(tf.float32, [None])
    w = tf.get_variable("w", [])
    other = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_mean(tf.square(w * x - 1.0)), var_list=[w])
ids, y, train = build()
with tf.Session() as session:
    session.run(tf.global_variables_initializer())
    for step in range(6):
        session.run(train, feed(ids, y, step))
        session.run(other, {x: [1.0, 2.0]})
"""


def test_of_steps_that_take_turns_the_first_is_compared_and_it_is_said(tmp_path: Path) -> None:
    model = MODEL.replace("minimize(loss)", "minimize(loss, var_list=[first, T, second])")
    result = proof(tmp_path, {"main.py": TURNS, "model.py": model}, {"model.py": converted(model)})
    assert not different(result)
    assert any("runs several training steps by turns" in note for note in result.notes)


TF = "import tensorflow as tf\n"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (TF + "tf.layers\n", "has `tf.layers` in `tf.compat.v1` alone; write `import tensorflow.compat.v1 as tf`"),
        (TF + "tf.train.AdamOptimizer\n", "has `tf.train.AdamOptimizer` in `tf.compat.v1` alone"),
        (
            TF + "tf.placeholder\ntf.contrib.layers\n",
            "main.py:3: .* has no `tf.contrib`; write what is taken from it in other words, in both programs .docs",
        ),
        (TF + "from tensorflow.contrib import rnn\n", "has no module `tensorflow.contrib`; write what is taken"),
        (TF + "import not_on_this_machine\n", "`not_on_this_machine` is not installed; install it, or put a small"),
        (TF + "open('data/train.csv')\n", "reads `data/train.csv`, which is not there; put the data"),
        (TF + "import numpy\nnumpy.loadtxt('train.csv')\n", "reads `train.csv`, which is not there; put the data"),
        (TF + "for _ in xrange(3): pass\n", "uses `xrange`: the code is Python 2; make it Python 3"),
        (TF + "import old\n", "old.py` cannot be read: the code is Python 2; make it Python 3"),
        (TF + "import broken\n", "line 1 of .*broken.py` is not valid Python"),
        (TF + "import sys\nsys.exit('usage: main.py FILE')\n", "give what it needs to train as arguments after `--`"),
        ("print 'text'\n", "main.py: the code is Python 2; make it Python 3 by .*, then convert it"),
        (TF + "{}['key']\n", "running it fails with KeyError: 'key'; correct it"),
        (TF + "x = 1\n", "no optimizer step was found"),
    ],
)
@pytest.mark.one_case
def test_a_program_that_cannot_be_run_is_told_what_to_do(text: str, words: str, tmp_path: Path) -> None:
    files = {"main.py": text, "old.py": "print 'text'\n", "broken.py": "def f(:\n"}
    with pytest.raises(MigrateError, match=words) as raised:
        proof(tmp_path, files, {})
    assert "\n" not in str(raised.value)


def test_a_program_that_ends_for_want_of_arguments_is_told_with_its_own_words(tmp_path: Path) -> None:
    text = TF + "import argparse\nreader = argparse.ArgumentParser()\nreader.add_argument('--data', required=True)\n"
    with pytest.raises(MigrateError, match=r"exit code 2; give what .* as arguments after `--`") as raised:
        proof(tmp_path, {"main.py": text + "reader.parse_args()\n"}, {})
    assert str(raised.value).endswith("error: the following arguments are required: --data")


KERAS = """
import tensorflow as tf

layers = [tf.keras.layers.Embedding(9, 2), tf.keras.layers.GlobalAveragePooling1D(), tf.keras.layers.Dense(1)]
model = tf.keras.Sequential(layers)
model.compile("adagrad", "mse")
model.fit(tf.zeros([64, 1], tf.int64), tf.zeros([64, 1]), batch_size=8, verbose=0)
"""


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (MAIN, "main.py: takes no step by Keras or a gradient tape, as the original does; give the converted program"),
        ("import paddle\n", "main.py: imports paddle, which the original does not; give the converted program"),
    ],
    ids=["session", "paddle"],
)
@pytest.mark.one_case
def test_a_program_of_another_kind_than_the_original_is_told_that(other: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(MigrateError, match=words):
        proof(tmp_path, {"main.py": KERAS, "model.py": MODEL}, {"main.py": other})
