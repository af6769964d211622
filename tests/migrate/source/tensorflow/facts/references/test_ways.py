"""How a table gets to where it is used: the lines by which it goes, and nothing where it is plain."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from migrate.report.model import Finding, State
from migrate.report.words import way
from tests.support.paths import ROOT
from tests.support.source.converting import HEAD, converted
from tests.support.source.projects import convert, write

MADE = 'W = tf.get_variable("w", [9, 4])\n'
LOOKED_UP = "loss = tf.reduce_sum(tf.nn.embedding_lookup(W, ids))\n"
STEP = "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"

#: What is done with `W` (line 2, its lookup is line 3) from line 4 on -> the lines by which it gets to `reduce_max`.
KINDS = {
    "a name": ("T = W\nloss += tf.reduce_max(T)\n", "`T = W` (line 4) -> used as `T`"),
    "a parameter": (
        "def f(table):\n    return tf.reduce_max(table)\nloss += f(W)\n",
        "`loss += f(W)` (line 6) -> `def f(table):` (line 4) -> used as `table`",
    ),
    "a result": (
        "def f():\n    return W, 1\na, b = f()\nloss += tf.reduce_max(a)\n",
        "`return W, 1` (line 5) -> `a, b = f()` (line 6) -> used as `a`",
    ),
    "a list that grows": (
        "L = []\nL.append(W)\nfor t in L:\n    loss += tf.reduce_max(t)\n",
        "`L.append(W)` (line 5) -> `for t in L:` (line 6) -> used as `t`",
    ),
    "a dict": (
        'def f():\n    return {"k": W}\nD = f()\nloss += tf.reduce_max(D["k"])\n',
        '`return {"k": W}` (line 5) -> used as `D["k"]`',
    ),
    "an attribute": (
        "class M: pass\nm = M()\nm.table = W\ndef f(model):\n    return tf.reduce_max(model.table)\nloss += f(m)\n",
        "`m.table = W` (line 6) -> used as `model.table`",
    ),
    "a list as a whole": (
        "L = [W]\ndef f(them):\n    return other.code(them)\nloss += f(L)\n",
        "`L = [W]` (line 4) -> `loss += f(L)` (line 7) -> `def f(them):` (line 5) -> used as `them`",
    ),
}

#: Uses of the table by the name that it was bound to.
PLAIN = {
    "its name": MADE + LOOKED_UP + "loss += tf.reduce_max(W)\n",
    "from a function": MADE + LOOKED_UP + "def f():\n    return tf.reduce_max(W)\nloss += f()\n",
    "its attribute": "class M:\n    def __init__(self):\n        self.w = tf.get_variable('w', [9, 4])\n"
    "    def f(self):\n        return tf.reduce_max(self.w) + tf.reduce_sum(tf.nn.embedding_lookup(self.w, ids))\n"
    "m = M()\nloss = m.f() + tf.reduce_max(m.w)\n",
    "its entry": "D = {'k': tf.get_variable('w', [9, 4])}\n"
    "loss = tf.reduce_sum(tf.nn.embedding_lookup(D['k'], ids)) + tf.reduce_max(D['k'])\n",
    "the call": "loss = tf.reduce_sum(tf.nn.embedding_lookup(tf.get_variable('w', [9, 4]), ids))\n",
}


def ways(text: str) -> list[str]:
    """Return the ways to what keeps the table."""
    return [way(one) for one in converted(text).findings if one.remains and one.table]


@pytest.mark.parametrize("kind", KINDS)
def test_a_step(kind: str) -> None:
    text, said = KINDS[kind]
    assert f"`W` is created (line 2) -> {said}" in ways(HEAD + MADE + LOOKED_UP + text + STEP)


@pytest.mark.parametrize("kind", PLAIN)
def test_nothing_is_said_of_what_is_plain(kind: str) -> None:
    assert not [one for one in converted(HEAD + PLAIN[kind] + STEP).findings if one.steps]


def test_lookups_and_what_follows_a_table_have_their_ways() -> None:
    text = "def f(t):\n    return tf.nn.embedding_lookup(t, ids)\nloss += tf.reduce_sum(f(W))\n"
    found = converted(HEAD + MADE + LOOKED_UP + text + "T = W\nprint(T.name)\n" + STEP).findings
    said = {(one.subject, one.location.line): way(one) for one in found if one.state in {State.APPLIED, State.NOTED}}
    assert said["lookup", 3] == ""
    assert (
        said["lookup", 5]
        == "`W` is created (line 2) -> `loss += tf.reduce_sum(f(W))` (line 6) -> `def f(t):` (line 4) -> used as `t`"
    )
    assert said["use", 8] == "`W` is created (line 2) -> `T = W` (line 7) -> used as `T`"


FILES = {
    "tables.py": f"{HEAD}{MADE}\ndef user():\n    return W\n",
    "net.py": "import tensorflow.compat.v1 as tf\nfrom tables import user, W as whole\n\nclass Net:\n"
    "    def __init__(self, ids):\n        self.users = user()\n"
    "        self.rows = tf.nn.embedding_lookup(self.users, ids)\n"
    "    def train(self):\n"
    "        return tf.train.AdamOptimizer(0.01).minimize(tf.reduce_sum(self.rows) + tf.reduce_min(whole))\n",
    "main.py": "import tensorflow.compat.v1 as tf\nfrom net import Net\nfrom tables import W\n\n"
    "net = Net(tf.placeholder(tf.int64, [None]))\nnet.train()\n\ndef export(model):\n"
    "    return tf.assign(model.users, value)\n\n"
    "print(tf.Session().run(export(net)), tf.reduce_max(W))\n",
}


def test_ways_over_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(write(tmp_path, FILES))
    found: list[Finding] = [one for result in convert(Path()).values() for one in result.findings]
    said = {one.before: way(one) for one in found if one.table}
    returned = "`W` is created (tables.py:2) -> `return W` (tables.py:5) -> "
    assert (
        said["tf.assign(model.users, value)"] == f"{returned}`self.users = user()` (net.py:6) -> used as `model.users`"
    )
    assert said["tf.reduce_min(whole)"] == said["tf.reduce_max(W)"] == ""  # imported alone
    assert said["tf.nn.embedding_lookup(self.users, ids)"].startswith(returned)


@pytest.mark.soak
def test_reports_are_the_same_each_time(tmp_path: Path) -> None:
    root = write(tmp_path / "src", FILES)
    texts = []
    for seed in ("1", "2", "3"):
        report = tmp_path / f"{seed}.json"
        command = [sys.executable, "-m", "migrate", "check", str(root), "--no-cache", "--report", str(report)]
        subprocess.run(command, cwd=ROOT, env={"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}, capture_output=True)
        texts.append(report.read_text().replace(f"{seed}.json", "report"))
    assert len(set(texts)) == 1


def test_a_layer_of_keras() -> None:
    text = (
        "import tensorflow as tf\ndef make():\n    return tf.keras.layers.Embedding(9, 4)\n"
        "def f(layer):\n    return layer.embeddings.assign(rows)\n"
        "layer = make()\nout = layer(ids)\nprint(f(layer))\n"
        "model = tf.keras.Model(ids, out)\nmodel.compile('sgd', 'mse')\n"
    )
    assert (
        "`tf.keras.layers.Embedding(9, 4)` is created (line 3) -> `layer = make()` (line 6) -> "
        "`print(f(layer))` (line 8) -> `def f(layer):` (line 4) -> used as `layer`"
    ) in [way(one) for one in converted(text).findings]
