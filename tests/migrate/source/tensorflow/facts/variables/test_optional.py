"""Tables that are made under a condition: the step trains them where they exist, and the rest where they do not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, same_training, verdicts, write

pytest.importorskip("tensorflow")

START = (
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
)
DENSE = (
    '        kernel = tf.get_variable("kernel", [8, 4])\n'
    "        rows = tf.matmul(tf.one_hot(ids % 8, 8) + 0.0, kernel)\n"
)
TABLE = '        item = tf.get_variable("item", [8, 4])\n        rows = tf.nn.embedding_lookup(item, ids)\n'
LOSS = "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
STEP = "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
RETURN = '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
END = LOSS + STEP + RETURN
PAIRS = STEP.replace(".minimize(loss)", "").replace("train_op", "opt") + (
    "    train_op = opt.apply_gradients(opt.compute_gradients(loss))\n"
)
COLUMNS = (
    "        names = ['ids'] if FLAG else []\n"
    "        columns = [\n"
    "            tf.feature_column.embedding_column(tf.feature_column.categorical_column_with_identity(n, 8), 4,\n"
    "                                               initializer=tf.random_uniform_initializer(-0.1, 0.1))\n"
    "            for n in names\n"
    "        ]\n"
    "        rows = sum(tf.feature_column.input_layer({'ids': ids}, [c]) for c in columns) + tf.ones([1, 4])\n"
)
PROGRAMS = {
    "if": START + "    if FLAG:\n" + TABLE + "    else:\n" + DENSE + END,
    "compute and apply": START + "    if FLAG:\n" + TABLE + "    else:\n" + DENSE + LOSS + PAIRS + RETURN,
    "a helper of a branch": "def table(ids):\n"
    + TABLE.replace("        rows =", "        return").replace("        ", "    ")
    + START + "    if FLAG:\n        rows = table(ids)\n    else:\n" + DENSE + END,
    "columns of a list": START + "    if True:\n" + COLUMNS + END,
    "try": START + "    try:\n        if not FLAG:\n            raise ValueError\n" + TABLE
    + "    except ValueError:\n" + DENSE + END,
}  # fmt: skip


@pytest.mark.parametrize("flag", ["True", "False"])
@pytest.mark.parametrize("text", PROGRAMS.values(), ids=PROGRAMS)
def test_a_table_under_a_condition_moves(text: str, flag: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": f"{HEAD}FLAG = {flag}\n{text}"})
    results = convert(root)
    assert list(verdicts(results).values()) == ["applied"], reasons(results)
    assert "if sparse_grads else []" in results["main.py"].converted
    same_training(root, results)


def test_a_category_of_a_fork_keeps_its_column(tmp_path: Path) -> None:
    text = HEAD + START + "    if True:\n" + COLUMNS.replace("with_identity(n, 8)", "with_rows(n)") + END
    results = convert(write(tmp_path / "p", {"main.py": text + "FLAG = True\n"}))
    assert not results["main.py"].changed
    assert "belongs to a fork of TensorFlow" in reasons(results)


def test_a_library_that_starts_processes_is_an_assumption(tmp_path: Path) -> None:
    text = HEAD + "import hybridbackend.tensorflow as hb\n" + START + "    if FLAG:\n" + TABLE + "    else:\n" + DENSE
    root = write(tmp_path / "p", {"main.py": text + END})
    assert verdicts(convert(root)) == {"item": "suggested"}
    assert verdicts(convert(root, assume=True)) == {"item": "applied"}
