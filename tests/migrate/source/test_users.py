"""Files that make no variable and may name no framework, but use a model that they import or are handed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, judged, reasons, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

#: A model in one file, built, trained and handed to a helper by itself.
MODEL = HEAD + (
    "from helpers import extra\n"
    "class Model(object):\n"
    "    def __init__(self, ids, label):\n"
    '        self.item = tf.get_variable("item", [8, 4])\n'
    '        self.scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * self.scale - label) ** 2) + extra(self)\n"
    "        self.train_op = tf.train.AdagradOptimizer(0.3).minimize(self.loss)\n"
)
MAIN = HEAD + (
    "from model import Model\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    model = Model(ids, label)\n"
    '    return {"ids": ids, "label": label, "loss": model.loss, "train_op": model.train_op, "rows": model.rows}\n'
)


WHOLE = {
    "an operator": ("helpers.py", "def extra(model):\n    return (model.item * model.item)[0, 0]\n", "helpers.py:2"),
    "tensorflow": ("helpers.py", HEAD + "def extra(m):\n    return tf.reduce_max(m.item)\n", "helpers.py:3"),
    "by its name": ("helpers.py", "def extra(m):\n    return getattr(m, 'item')[0, 0]\n", "helpers.py:2"),
    "of its object's dict": ("helpers.py", "def extra(m):\n    return m.__dict__['item'][0, 0]\n", "helpers.py:2"),
}


@pytest.mark.parametrize(("name", "text", "place"), WHOLE.values(), ids=WHOLE)
@pytest.mark.parametrize("apart", [True, False], ids=["two files", "three files"])
def test_a_helper_that_reads_the_table_keeps_it(name: str, text: str, place: str, apart: bool, tmp_path: Path) -> None:
    """The helper does not import the model: it is imported by it, or by the script that hands it the model."""
    files = {"model.py": MODEL, "main.py": MAIN, name: text}
    if not apart:
        files["model.py"] = MODEL.replace("from helpers import extra\n", "").replace(" + extra(self)", "")
        files["main.py"] = MAIN.replace("def build", "import helpers\ndef build").replace(
            "    return", "    helpers.extra(model)\n    return"
        )
    root = write(tmp_path / "p", files)
    results = convert(root)
    assert set(verdicts(results).values()) <= {"suggested", "unsupported"}
    assert place in reasons(results)
    assert not any(one.changed for one in results.values())


def test_a_single_model_and_its_runner(tmp_path: Path) -> None:
    """All of TensorFlow in one file; who runs it names no framework, and one of them takes the whole table."""
    alone = MODEL.replace("from helpers import extra\n", "").replace(" + extra(self)", "") + MAIN.replace(
        HEAD + "from model import Model\n", ""
    )
    runner = "from main import build\ndef go(session):\n    return session.run(build()['train_op'])\n"
    trains_alike(tmp_path / "p", {"main.py": alone, "run.py": runner})
    fetch = (
        "from main import Model\ndef go(session, ids):\n    model = Model(ids, ids)\n    session.graph.finalize()\n"
        "    return session.run(model.item)\n"
    )
    judged(tmp_path / "p", {"fetch.py": fetch}, {"item": "unsupported"}, "fetch.py:5")
