"""Assignments of whole matrices: those that a session only runs set rows, and those that are read stay."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import converted, reasons
from tests.support.source.projects import convert, write
from tests.support.source.projects import reasons as reasons_of

HEAD = (
    "import tensorflow.compat.v1 as tf\nids = tf.placeholder(tf.int64, [None])\n"
    "p = tf.placeholder(tf.float32, [9, 4])\n"
    'W = tf.get_variable("w", [9, 4], initializer=tf.ones_initializer())\ne = tf.nn.embedding_lookup(W, ids)\n'
    "step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(e))\n"
)
#: Lines, and what the assignment becomes.
SETS = {
    "run": ("sess.run(W.assign(p), {p: rows})\n", "sess.run(set_rows(W, p), {p: rows})"),
    "by keywords": ("sess.run(fetches=tf.assign(ref=W, value=rows))\n", "sess.run(fetches=set_rows(W, rows))"),
    "with others": ("sess.run([W.assign(rows), other])\n", "sess.run([set_rows(W, rows), other])"),
    "before others": (
        "with tf.control_dependencies([W.assign(rows)]):\n    x = tf.no_op()\n",
        "tf.control_dependencies([set_rows(W, rows)])",
    ),
    "an attribute": (
        "class M:\n    def __init__(self):\n        self.init = W.assign(p)\nm = M()\nsess.run(m.init, {p: rows})\n",
        "self.init = set_rows(W, p)",
    ),
    "of looked-up rows": (
        "sess.run(tf.assign(W, tf.gather(W, order)))\n",
        "sess.run(set_rows(W, sparse_lookup(W, order)))",
    ),
    "of itself": ("sess.run(W.assign(W * 0.5))\n", "sess.run(set_rows(W, all_rows(W) * 0.5))"),
    "in parts of lines": (
        "sess.run(tf.assign(\n    W,\n    tf.gather(W, order),  # from the end\n))\n",
        "# from the end\nsess.run(set_rows(W, sparse_lookup(W, order)))",
    ),
}
STAYS = {
    "its value is fetched": "rows = sess.run(W.assign(p), {p: rows})\n",
    "its value is returned": "def f():\n    return sess.run(W.assign(p), {p: rows})\n",
    "it is computed with": "y = W.assign(p) * 2.0\n",
    "it is looked up": "y = tf.nn.embedding_lookup(W.assign(p), ids)\n",
    "kept in a list": "ops = [W.assign(p)]\nx = sess.run(ops, {p: rows})\n",
    "handed on": "use(W.assign(p))\n",
    "read as an attribute of something": (
        "class M:\n    def __init__(self):\n        self.init = W.assign(p)\ndef f(m):\n    return m.init * 2.0\n"
    ),
    "of another shape": "sess.run(tf.assign(W, p, validate_shape=False))\n",
    "in a branch of the graph": "x = tf.cond(c, lambda: W.assign(p), lambda: other)\n",
    "found by its name": "tf.assign(W, p, name='fill')\nsess.run('fill', {p: rows})\n",
    "the value that it has": "sess.run(tf.assign(p, W))\n",
}


@pytest.mark.parametrize(("lines", "becomes"), SETS.values(), ids=SETS)
def test_what_is_only_run_sets_rows(lines: str, becomes: str) -> None:
    result = converted(HEAD + lines)
    assert becomes in result.converted, reasons(result)
    assert not converted(result.converted).changed


@pytest.mark.parametrize("lines", STAYS.values(), ids=STAYS)
def test_what_is_read_keeps_the_table(lines: str) -> None:
    result = converted(HEAD + lines)
    assert "set_rows" not in result.converted
    assert "create_table" not in result.converted, lines


def test_an_assignment_in_another_file_where_the_size_is_not_known(tmp_path: Path) -> None:
    lines = HEAD.splitlines(keepends=True)
    model = (
        lines[0]
        + "class M:\n    def __init__(self, n, ids):\n        self.n = n\n"
        + (
            '        self.W = tf.get_variable("w", [self.n, 4])\n        self.e = tf.nn.embedding_lookup(self.W, ids)\n'
            "        self.step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(self.e))\n"
        )
    )
    main = lines[0] + lines[1] + "from model import M\ndef load(sess, m, rows):\n    fill = tf.assign(m.W, rows)\n"
    main += "    sess.run(fill)\nwith tf.Session() as sess:\n    load(sess, M(9, ids), rows)\n"
    results = convert(write(tmp_path / "p", {"main.py": main, "model.py": model}))
    assert "fill = set_rows(m.W, rows)" in results["main.py"].converted, reasons_of(results)


def test_a_vector_and_a_matrix_of_unknown_size_stay() -> None:
    run = "sess.run(W.assign(rows))\n"
    vector = HEAD.replace("[9, 4], initializer", "[9], initializer") + run
    unknown = HEAD.replace('tf.get_variable("w", [9, 4], initializer=tf.ones_initializer())', "tf.Variable(m)") + run
    for text in (vector, unknown):
        assert "create_table" not in converted(text, assume=True).converted
        assert "table_of_rows" not in converted(text, assume=True).converted


@pytest.mark.parametrize("target", ["rec_sdk", "deeprec", "sok"])
def test_other_sdks_have_no_such_op(target: str) -> None:
    result = convert_text("model.py", HEAD + "sess.run(W.assign(rows))\n", Options(assume=True, target=target), {})
    assert "set_rows" not in result.converted
    assert "by `import_rows`" in reasons(result)


MODEL = (
    HEAD.splitlines(keepends=True)[0]
    + """class M:
    def __init__(self, ids):
        self.W = tf.get_variable("w", [9, 4], initializer=tf.ones_initializer())
        self.fill = self.W.assign(tf.zeros([9, 4]))
        self.e = tf.nn.embedding_lookup(self.pad(), ids)
        self.step = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(self.e))

    def pad(self):
        return tf.concat([tf.zeros([1, 4]), self.W[1:]], 0)
"""
)
MAIN = HEAD.splitlines(keepends=True)[0] + (
    "from model import M\nfrom util import use\nids = tf.placeholder(tf.int64, [None])\n"
    "with tf.Session() as sess:\n    m = M(ids)\n    use(sess, m)\n    sess.run(m.step)\n"
)
#: What a file without a word of TensorFlow does with the model, and whether the table moves.
PLAIN = {
    "runs the assignment": ("    sess.run(m.fill)\n", True),
    "reads its value": ("    return sess.run(m.fill)\n", False),
    "reads the padded matrix": ("    sess.run(m.pad() * 2.0)\n", False),
}


@pytest.mark.parametrize(("line", "moves"), PLAIN.values(), ids=PLAIN)
def test_a_file_without_tensorflow_gets_the_model(line: str, moves: bool, tmp_path: Path) -> None:
    texts = {"main.py": MAIN, "model.py": MODEL, "util.py": "def use(sess, m):\n" + line}
    results = convert(write(tmp_path / "p", texts))
    assert ("create_table" in results["model.py"].converted) is moves, reasons_of(results)
