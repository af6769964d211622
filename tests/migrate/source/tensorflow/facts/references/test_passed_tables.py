"""Tables that are passed to functions, methods and constructors, or returned by them: run and compared."""

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


MAIN = HEAD + (
    "import helpers\n"
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    "    {0}\n"
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
    "    train_op = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    '    return {{"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}}\n'
)
ITEM = 'tf.get_variable("item", [8, 4])'


SHAPES = (
    "def embedding(ids, *, with_table=False):\n"
    f"    table = {ITEM}\n"
    "    rows = tf.nn.embedding_lookup(table, ids)\n"
    "    if with_table:\n        return rows, table\n    else:\n        return rows\n"
)
BOTH = "rows, item = helpers.embedding(ids, with_table=True)\n    rows += tf.nn.embedding_lookup(item, ids[::-1])"
DICT = (
    f'def make():\n    w = {{}}\n    w["item"] = {ITEM}\n    w["b"] = tf.get_variable("bias", [8, 1])\n    return w\n'
    'def look(w, ids):\n    rows = tf.nn.embedding_lookup(w["item"], ids)\n'
    '    return rows + tf.nn.embedding_lookup(w["b"], ids)\n'
)
NEGATED = SHAPES[: SHAPES.index("    if")] + "    if not with_table:\n        return rows\n    return rows, table\n"
NESTED = NEGATED.replace("        return rows\n", "        if FLAG:\n            return rows\n")
OTHER = 'helpers.look({"item": tf.ones([8, 4]), "b": tf.ones([8, 1])}, ids)'


FLAG = "with_table=True"
STAYS = {
    "whole": (SHAPES, BOTH + "\n    rows += tf.cond(FLAG, lambda: tf.matmul(item, item), lambda: 0.0)", "main.py:7"),
    "flag not known": (SHAPES, BOTH.replace(FLAG, "with_table=FLAG"), "helpers.py"),
    "flag bound again": (SHAPES.replace("    rows =", "    with_table = with_table or FLAG\n    rows ="),
                         BOTH, "helpers.py"),
    "another tuple": (
        SHAPES.replace("    if with", "    if FLAG:\n        return rows, rows\n    if with"), BOTH, "helpers.py"),
    "may pass": (SHAPES.replace("        return rows, table\n    else:\n        return rows",
                                "        for _ in FLAG:\n            return rows, table\n    return rows, rows"),
                 BOTH, "helpers.py"),
    "may go on": (NESTED, "rows = helpers.embedding(ids)", "helpers.py"),
    "another dict is passed": (DICT, f"w = helpers.make()\n    rows = helpers.look(w, ids) + {OTHER}", "main.py:6"),
    "fetched": (SHAPES, BOTH + "\n    tf.train.MonitoredSession().run(item)", "main.py:7"),
}  # fmt: skip


@pytest.mark.parametrize(("helpers", "uses", "place"), STAYS.values(), ids=STAYS)
@pytest.mark.parametrize("assume", [False, True])
def test_a_table_whose_callers_are_not_clear_stays(
    helpers: str, uses: str, place: str, assume: bool, tmp_path: Path
) -> None:
    files = {"helpers.py": HEAD + "FLAG = False\n" + helpers, "main.py": MAIN.format(uses) + "FLAG = True\n"}
    results = convert(write(tmp_path / "p", files), assume=assume)
    assert "applied" not in verdicts(results).values()
    assert not any(one.changed for one in results.values())
    assert place in reasons(results)


def test_two_shapes_of_two_tables_that_move_together(tmp_path: Path) -> None:
    """Each name is fixed where the helper is called once; with two callers the name of the variable is not."""
    files = {"helpers.py": HEAD + SHAPES, "main.py": MAIN.format(BOTH + "\n    rows += helpers.embedding(ids)")}
    assert "applied" in verdicts(convert(write(tmp_path / "p", files))).values()
