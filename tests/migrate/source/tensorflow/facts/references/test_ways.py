"""How a table gets to where it is used: each kind of step in words, with its line, and nothing where it is plain."""

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

#: What is done with `W` (line 2, its lookup is line 3) from line 4 on -> the way to `reduce_max`.
KINDS = {
    "a name": ("T = W\nloss += tf.reduce_max(T)\n", "assigned to `T` (line 4) -> used as `T`"),
    "a choice": ("T = W if ids else 1\nloss += tf.reduce_max(T)\n", "assigned to `T` (line 4) -> used as `T`"),
    "a closure": (
        "def f():\n    T = W\n    def g():\n        return tf.reduce_max(T)\n    return g()\nloss += f()\n",
        "assigned to `T` (line 5) -> used as `T`",
    ),
    "a parameter": (
        "def f(table):\n    return tf.reduce_max(table)\nloss += f(W)\n",
        "given to `f` as `table` (line 6) -> used as `table`",
    ),
    "a default": (
        "def f(x, table=W):\n    return tf.reduce_max(table)\nloss += f(1)\n",
        "the default of `table` of `f` (line 4) -> used as `table`",
    ),
    "a lambda": (
        "f = lambda t: tf.reduce_max(t)\nloss += f(W)\n",
        "given to a lambda as `t` (line 5) -> used as `t`",
    ),
    "a partial": (
        "import functools\ndef f(t, x):\n    return tf.reduce_max(t)\nloss += functools.partial(f, W)(1)\n",
        "given to `f` as `t` (line 7) -> used as `t`",
    ),
    "a result": (
        "def f():\n    return W\nloss += tf.reduce_max(f())\n",
        "returned by `f` (line 5) -> used as `f()`",
    ),
    "a tuple": (
        "def f():\n    return W, 1\na, b = f()\nloss += tf.reduce_max(a)\n",
        "returned by `f` (line 5) -> assigned to `a` (line 6) -> used as `a`",
    ),
    "attributes of a tuple": (
        "class M:\n    def __init__(self):\n        self.a, self.b = W, 1\nloss += tf.reduce_max(M().a)\n",
        "assigned to `self.a` (line 6) -> used as `M().a`",
    ),
    "a generator": (
        "def f():\n    yield W\nfor t in f():\n    loss += tf.reduce_max(t)\n",
        "yielded by `f` (line 5) -> taken from `f()` as `t` (line 6) -> used as `t`",
    ),
    "stars": (
        "def f(*tables, **more):\n    return tf.reduce_max(more['k'])\nloss += f(1, k=W)\n",
        "given to `f` in `**more` (line 6) -> used as `more['k']`",
    ),
    "a list": ("L = [W]\nloss += tf.reduce_max(L[0])\n", "put into `L` (line 4) -> used as `L[0]`"),
    "a list that grows": (
        "L = []\nL.append(W)\nfor t in L:\n    loss += tf.reduce_max(t)\n",
        "added to `L` (line 5) -> taken from `L` as `t` (line 6) -> used as `t`",
    ),
    "a comprehension": (
        "L = [t for t in (W, 1)]\nloss += tf.reduce_max(L[0])\n",
        "taken from `(W, 1)` as `t`, put into `L` (line 4) -> used as `L[0]`",
    ),
    "a dict": (
        'def f():\n    return {"k": W}\nD = f()\nloss += tf.reduce_max(D["k"])\n',
        'entry `"k"` of a dict, returned by `f` (line 5) -> assigned to `D` (line 6) -> used as `D["k"]`',
    ),
    "an entry": (
        'D = {}\nD["k"] = W\ndef f(d):\n    return tf.reduce_max(d["k"])\nloss += f(D)\n',
        'assigned to `D["k"]` (line 5) -> given to `f` as `d` (line 8) -> used as `d["k"]`',
    ),
    "items": (
        'D = {"k": W}\nfor k, t in D.items():\n    loss += tf.reduce_max(t)\n',
        'entry `"k"` of `D` (line 4) -> taken from `D.items()` as `t` (line 5) -> used as `t`',
    ),
    "a list in a dict": (
        'D = {"k": [W]}\nloss += tf.reduce_max(D["k"][0])\n',
        'put into a list, entry `"k"` of `D` (line 4) -> used as `D["k"][0]`',
    ),
    "an attribute": (
        "class M:\n    def __init__(self, table):\n        self.table = table\n"
        "    def f(self):\n        return tf.reduce_max(self.table)\nloss += M(W).f()\n",
        "given to `M` as `table` (line 9) -> assigned to `self.table` (line 6) -> used as `self.table`",
    ),
    "an attribute of a parameter": (
        "class M: pass\nm = M()\nm.table = W\ndef f(model):\n    return tf.reduce_max(model.table)\nloss += f(m)\n",
        "assigned to `m.table` (line 6) -> the `M` assigned to `m` (line 5) -> given to `f` as `model` (line 9)"
        " -> used as `model.table`",
    ),
    "an object in a call": (
        "class C:\n    def __init__(self, table):\n        self.table = table\n"
        "def f(c):\n    return tf.reduce_max(c.table)\nloss += f(C(W))\n",
        "given to `C` as `table` (line 9) -> assigned to `self.table` (line 6) -> the `C` given to `f` as `c` (line 9)"
        " -> used as `c.table`",
    ),
    "setattr": (
        'class M: pass\nm = M()\nsetattr(m, "table", W)\nloss += tf.reduce_max(m.table)\n',
        'set as an attribute by `setattr(m, "table", W)` (line 6) -> used as `m.table`',
    ),
    "a property": (
        "class M:\n    @property\n    def table(self):\n        return W\nloss += tf.reduce_max(M().table)\n",
        "returned by `M.table` (line 7) -> used as `M().table`",
    ),
    "a class": (
        "class M:\n    table = W\n    def f(self):\n        return tf.reduce_max(self.table)\nloss += M().f()\n",
        "assigned to `M.table` (line 5) -> used as `self.table`",
    ),
    "a record": (
        "import collections\nR = collections.namedtuple('R', ['user'])\nr = R(user=W)\nloss += tf.reduce_max(r.user)\n",
        "kept as `user` of `R` (line 6) -> used as `r.user`",
    ),
    "a list as a whole": (
        "L = [W]\ndef f(them):\n    return other.code(them)\nloss += f(L)\n",
        "put into `L` (line 4) -> given to `f` as `them` (line 7) -> used as `them`",
    ),
    "a long text": (
        'D = {"a_key_that_is_long_enough_to_be_cut": W}\nT = D["a_key_that_is_long_enough_to_be_cut"]\n'
        "loss += tf.reduce_max(T)\n",
        'entry `"a_key_that_is_long_enough_to_be_cut"` of `D` (line 4) -> assigned to `T` (line 5) -> used as `T`',
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
    assert f"`W` is made (line 2) -> {said}" in ways(HEAD + MADE + LOOKED_UP + text + STEP)


@pytest.mark.parametrize("kind", PLAIN)
def test_nothing_is_said_of_what_is_plain(kind: str) -> None:
    assert not [one for one in converted(HEAD + PLAIN[kind] + STEP).findings if one.steps]


def test_lookups_and_what_follows_a_table_have_their_ways() -> None:
    text = "def f(t):\n    return tf.nn.embedding_lookup(t, ids)\nloss += tf.reduce_sum(f(W))\n"
    found = converted(HEAD + MADE + LOOKED_UP + text + "T = W\nprint(T.name)\n" + STEP).findings
    said = {(one.subject, one.location.line): way(one) for one in found if one.state in {State.APPLIED, State.NOTED}}
    assert said["lookup", 3] == ""
    assert said["lookup", 5] == "`W` is made (line 2) -> given to `f` as `t` (line 6) -> used as `t`"
    assert said["use", 8] == "`W` is made (line 2) -> assigned to `T` (line 7) -> used as `T`"


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
    assert said["tf.assign(model.users, value)"] == (
        "`W` is made (tables.py:2) -> returned by `user` (tables.py:5) -> assigned to `self.users` (net.py:6)"
        " -> the `Net` assigned to `net` (line 5) -> given to `export` as `model` (line 11) -> used as `model.users`"
    )
    assert said["tf.reduce_min(whole)"] == (
        "`W` is made (tables.py:2) -> imported as `whole` (line 2) -> used as `whole`"
    )
    assert said["tf.reduce_max(W)"] == ""
    assert said["tf.nn.embedding_lookup(self.users, ids)"].startswith("`W` is made (tables.py:2) -> returned by `user`")


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
        "the layer is made, returned by `make` (line 3) -> assigned to `layer` (line 6)"
        " -> given to `f` as `layer` (line 8) -> used as `layer`"
    ) in [way(one) for one in converted(text).findings]
