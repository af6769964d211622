"""Notebooks beside modules: what a notebook does with the tables of a module counts, and what its modules do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from migrate.report.model import State
from migrate.source.driver.run import convert_paths
from migrate.source.settings.options import Options
from tests.support.source.projects import HEAD, convert, judged, reasons, verdicts, write

MODEL = HEAD + (
    "class Model(object):\n"
    "    def __init__(self, ids, label):\n"
    '        self.item = tf.get_variable("item", [8, 4], initializer=tf.constant_initializer(0.5))\n'
    '        scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "        self.rows = tf.nn.embedding_lookup(self.item, ids)\n"
    "        self.loss = tf.reduce_mean((tf.reduce_sum(self.rows, 1) * scale - label) ** 2)\n"
)
START = HEAD + "ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])"
MADE = 'item = tf.get_variable("item", [8, 4])\nrows = tf.nn.embedding_lookup(item, ids)\n'
LOSS = "loss = tf.reduce_mean((tf.reduce_sum(rows, 1) - label) ** 2)"
STEP = "train_op = tf.train.AdagradOptimizer(0.2).minimize({})"
DECAY = (
    HEAD + "def decay():\n    return tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables() if len(v.shape)])\n"
)


def notebook(*cells: str) -> str:
    made = [
        {"cell_type": "code", "id": f"c{n}", "metadata": {}, "outputs": [], "source": s} for n, s in enumerate(cells)
    ]
    return json.dumps({"cells": made, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}, indent=1)


def cells(text: bytes) -> list[str]:
    return [str(cell["source"]) for cell in json.loads(text)["cells"]]


BROUGHT = {
    "an import": "from decay import decay",
    "a run": "%run decay.py",
    "a run with an option": "%run -i ./decay.py",
    "a load": "%load decay.py",
    "a run of another directory": "%run ../src/decay.py",
    "a run without the end": "%run ../src/decay",
    "a run with arguments": "%run -i '../src/decay.py' --rate 1",
}


@pytest.mark.parametrize("brought", BROUGHT.values(), ids=BROUGHT)
def test_what_a_notebook_brings_in_is_seen(brought: str, tmp_path: Path) -> None:
    name = "src/decay.py" if "src" in brought else "decay.py"
    text = notebook(START, brought, MADE + LOSS, STEP.format("loss + decay()"))
    results = convert(write(tmp_path / "p", {name: DECAY, "books/train.ipynb": text, "books/other.py": ""}))
    assert verdicts(results) == {"item": "unsupported"}, reasons(results)
    assert "uses all trainable variables" in reasons(results)


USES = {
    "the whole table": ("tf.train.MonitoredSession().run(model.item)", "which a growing table does not have"),
    "FTRL beside it": ("more = tf.train.FtrlOptimizer(0.2).minimize(model.loss)", "depends on their order"),
    "a matrix": ("tf.losses.add_loss(tf.cond(c, lambda: tf.matmul(model.item, model.item), lambda: 0.0))", "matmul"),
}


@pytest.mark.parametrize(("use", "says"), USES.values(), ids=USES)
def test_what_a_notebook_does_with_a_table_of_a_module_keeps_it(use: str, says: str, tmp_path: Path) -> None:
    text = notebook(START + "\nfrom model import Model", "model = Model(ids, label)", STEP.format("model.loss"), use)
    results = judged(tmp_path / "p", {"model.py": MODEL, "train.ipynb": text}, {"item": "unsupported"}, says)
    assert not [name for name, one in results.items() if one.changed]


def test_what_a_run_file_makes_is_seen_in_the_notebook(tmp_path: Path) -> None:
    module = START + "\n" + MADE + LOSS + "\n" + STEP.format("loss") + "\n"
    closed = "tf.train.MonitoredSession().run(item)"
    for use, verdict in ((closed, "unsupported"), ("for _ in range(3): session.run([rows, item])", "applied")):
        files = {"src/model.py": module, "books/use.ipynb": notebook("%run ../src/model.py", use)}
        results = convert(write(tmp_path / verdict, files))
        assert verdicts(results) == {"item": verdict}, reasons(results)


def test_a_notebook_that_cannot_take_its_edits_keeps_its_modules(tmp_path: Path) -> None:
    module = HEAD + "def train(loss):\n    return tf.train.AdagradOptimizer(0.2).minimize(loss)\n"
    text = notebook(START + "\nfrom module import train", MADE + LOSS, "%psearch item", "train(loss)")
    root = write(tmp_path / "p", {"module.py": module, "train.ipynb": text})
    done = convert_paths([str(root)], Options())
    assert not [one for one in done if one.result.changed]
    found = [f for one in done for f in one.result.findings if f.state is State.FAILED]
    assert any("`%psearch item` uses a converted table, but is not Python" in f.message for f in found)
    write(root, {"train.ipynb": text.replace("%psearch item", "%psearch other")})
    assert [one.result.changed for one in convert_paths([str(root)], Options())] == [True, True]
