"""Lists of all variables, however a program gets hold of them: a table leaves them, so the table moves only if told."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from project_helpers import HEAD, convert, reasons, train, verdicts, write

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
#: What the module `compat` of a project does to give its files TensorFlow.
COMPAT = {
    "try": "try:\n    import tensorflow.compat.v1 as tf\nexcept ImportError:\n    import tensorflow as tf\n",
    "if": "import tensorflow\nif int(tensorflow.__version__[0]) > 1:\n    import tensorflow.compat.v1 as tf\n"
    "else:\n    import tensorflow as tf\n",
    "assignment": "import tensorflow\ntf = tensorflow.compat.v1\n",
    "own name again": "import tensorflow as tf\ntf = tf.compat.v1\n",
    "choice": "import tensorflow\ntf = tensorflow.compat.v1 if hasattr(tensorflow, 'compat') else tensorflow\n",
    "handed on": "from base import tf\n",
}
BASE = COMPAT["try"]


@pytest.mark.parametrize("text", COMPAT.values(), ids=COMPAT)
def test_a_module_of_the_project_may_give_tensorflow(text: str, tmp_path: Path) -> None:
    files = {"main.py": MAIN, "helper.py": "from compat import tf\n" + DECAY, "compat.py": text, "base.py": BASE}
    root = write(tmp_path / "p", files)
    assert "sums over all trainable variables" in reasons(convert(root))
    done = convert(root, assume=True)
    assert verdicts(done) == {"w": "applied"}
    assert any(f.applicability and f.applicability.value == "changes-values" for f in done["main.py"].findings)
    dense = DECAY.replace("tf.trainable_variables()", "tf.trainable_variables() if v.op.name != 'w'")
    losses, rows, start = train(write(tmp_path / "dense", {**files, "helper.py": HEAD + dense}), None)
    changed = write(tmp_path / "done", {**files, **{name: one.converted for name, one in done.items()}})
    found, rows_after, _ = train(changed, start)
    np.testing.assert_allclose(found, losses, rtol=1e-5)
    np.testing.assert_allclose(rows_after, rows, rtol=1e-4, atol=1e-6)


def test_clipping_through_such_a_module_keeps_the_table(tmp_path: Path) -> None:
    clip = "def decay(l2):\n    return tf.add_n([tf.reduce_sum(tf.clip_by_value(v, -l2, l2)) for v in {}])\n"
    helper = "import compat\n" + clip.format("compat.tf.trainable_variables()").replace("tf.", "compat.tf.").replace(
        "compat.compat.", "compat."
    )
    root = write(tmp_path, {"main.py": MAIN, "helper.py": helper, "compat.py": COMPAT["try"]})
    done = convert(root, assume=True)
    assert verdicts(done) == {"w": "unsupported"}
    assert "uses all trainable variables" in reasons(done)
