"""Tables that are passed to nested functions, methods and constructors, or returned by methods: run and compared."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.projects import HEAD, convert, reasons, trains_alike, verdicts, write

pytest.importorskip("tensorflow")

START = (
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    item = tf.get_variable("item", [8, 4])\n'
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
)
END = (
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
    "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
)
UNIT = (
    "    def unit(table, ids, weight):\n"
    "        return weight * tf.nn.embedding_lookup(table, ids)\n"
    "    rows = unit(item, ids, 1.0) + unit(item, ids[::-1], 0.1)\n"
)
TOWER = (
    "class Tower(object):\n"
    "    def __init__(self, table, factor):\n"
    "        self.table, self.factor = table, factor\n"
    "    def rows(self, ids):\n"
    "        return self.factor * tf.nn.embedding_lookup(self.table, ids)\n"
    "class Half(Tower):\n"
    "    pass\n"
)
CONSTRUCTED = HEAD + TOWER + START + "    rows = Tower(item, 1.0).rows(ids) + Half(item, 0.5).rows(ids[::-1])\n" + END


def test_two_tables_share_a_function_and_move_together(tmp_path: Path) -> None:
    text = (HEAD + START + UNIT + END).replace(
        "unit(item, ids[::-1], 0.1)", 'unit(tf.get_variable("other", [8, 4]), ids, 0.1)'
    )
    text = text.replace('tf.get_variable("other", [8, 4])', "other").replace(
        "    scale", '    other = tf.get_variable("other", [8, 4])\n    scale', 1
    )
    trains_alike(tmp_path / "p", {"main.py": text}, tables=["item", "other"])
    product = "    tf.cond(ids[0] > 0, lambda: tf.matmul(other, other, transpose_b=True), lambda: 0.0)\n    rows = "
    results = convert(write(tmp_path / "q", {"main.py": text.replace("    rows = ", product)}))
    assert verdicts(results) == {"item": "unsupported", "other": "unsupported"}, reasons(results)
    assert not results["main.py"].changed


CALL = "unit(item, ids[::-1], 0.1)"


MOVES = {
    "handed on": (CALL, "sum(map(unit, [item], [ids], [0.1]))"),
    "starred": (CALL, "unit(*[item, ids, 0.1])"),
}


@pytest.mark.parametrize(("before", "after"), MOVES.values(), ids=MOVES)
def test_a_table_that_is_passed_by_python_moves(before: str, after: str, tmp_path: Path) -> None:
    trains_alike(tmp_path / "p", {"main.py": (HEAD + START + UNIT + END).replace(before, after)})


CONSTRUCTORS = {
    "another value": ("Half(item, 0.5)", "Half(tf.ones([8, 4]), 0.5)"),
    "handed on": ("Half(item, 0.5)", "make(Half, item)"),
    "read by others": ("Half(item, 0.5)", "show(Tower(item, 1.0).table) + Half(item, 0.5)"),
}


@pytest.mark.parametrize(("before", "after"), CONSTRUCTORS.values(), ids=CONSTRUCTORS)
def test_a_constructor_that_takes_something_else_keeps_the_table(before: str, after: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": CONSTRUCTED.replace(before, after)})
    results = convert(root)
    assert not results["main.py"].changed
    assert verdicts(results).get("item") != "applied" and reasons(results)


def test_one_function_looks_up_a_padded_and_a_plain_table(tmp_path: Path) -> None:
    text = (HEAD + START + UNIT + END).replace(
        "    rows = unit(item", "    padded = tf.concat([tf.zeros([1, 4]), item[1:]], 0)\n    rows = unit(padded"
    )
    results = convert(write(tmp_path / "p", {"main.py": text}))
    assert "padded = zero_padded(item)" in results["main.py"].converted
    assert "padded_lookup(" in results["main.py"].converted
