"""Projects whose optimizers, loops and readers of names stand in other files than the table."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

MODEL = HEAD + (
    "from base import Base\n"
    "class Model(Base):\n"
    "    def __init__(self, ids, label):\n"
    "        super().__init__()\n"
    '        W = tf.get_variable("item", [8, 4])\n'
    '        b = tf.get_variable("b", [4], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(W, ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows * b, 1) - label) ** 2)\n"
    "        self.fit()\n"
)
MAIN = HEAD + (
    "from model import Model\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    model = Model(ids, label)\n"
    '    return {"ids": ids, "label": label, "loss": model.loss, "train_op": model.train_op, "rows": model.rows}\n'
)
BASES = {
    "made there": "class Base:\n    def __init__(self):\n        self.opt = tf.train.AdagradOptimizer(0.3)\n"
    "    def fit(self):\n        self.train_op = self.opt.minimize(self.loss)\n",
    "made in place": "class Base:\n    def __init__(self):\n        pass\n"
    "    def fit(self):\n        self.train_op = tf.train.AdagradOptimizer(0.3).minimize(self.loss)\n",
}


@pytest.mark.parametrize("base", BASES.values(), ids=BASES)
def test_the_dense_variables_of_another_file_are_trained(base: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"base.py": HEAD + base, "model.py": MODEL, "main.py": MAIN})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}
    assert "dense_vars" in results["base.py"].converted
    same_training(root, results)


LOOK = HEAD + (
    'W = tf.get_variable("w", [9, 4], initializer=tf.zeros_initializer())\n'
    "def look(i):\n    return tf.nn.embedding_lookup(W, i)\n"
)
STEP = "op = tf.train.AdagradOptimizer(0.1).minimize(tf.norm(e))\n"
OTHERS = {
    "a loop": (
        "import tensorflow as tf\ndef each(f, x):\n    return tf.map_fn(f, x)\n",
        f"import look, other\ne = other.each(look.look, ids)\n{STEP}",
        "`tf.map_fn` runs it in an inner graph",
    ),
    "a name": (
        "def show(session):\n    print(session.run('w:0'))\n",
        f"import look, other\ne = look.look(ids)\n{STEP}other.show(tf.Session())\n",
        "`'w:0'` reads this variable by its name",
    ),
    "a bound method": (
        "def step(minimize, loss):\n    return minimize(loss)\n",
        "import look, other\ne = look.look(ids)\nop = other.step(tf.train.AdagradOptimizer(0.1).minimize, e)\n",
        "used in an unsupported way",
    ),
    "several processes": (
        "import horovod.tensorflow as hvd\ndef start():\n    hvd.init()\n",
        f"import look, other\nother.start()\ne = look.look(ids)\n{STEP}",
        "`hvd.init` is used",
    ),
}


@pytest.mark.parametrize(("other", "main", "says"), OTHERS.values(), ids=OTHERS)
def test_what_another_file_does_keeps_the_table(other: str, main: str, says: str, tmp_path: Path) -> None:
    main = HEAD + "ids = tf.constant([1])\n" + main
    root = write(tmp_path / "p", {"look.py": LOOK, "other.py": other, "main.py": main})
    results = convert(root, assume=True)
    assert verdicts(results) == {"w": "unsupported"}
    assert says in reasons(results)
