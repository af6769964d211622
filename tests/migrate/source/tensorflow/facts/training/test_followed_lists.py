"""Lists of all variables and of gradients that travel to their step: converted, run and compared, or kept."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from tests.support.source.projects import convert, trains_alike, verdicts, write
from tests.support.source.ways import Way, followed

pytest.importorskip("tensorflow")

HEAD = (
    "import tensorflow.compat.v1 as tf\n"
    "import collections, contextlib, dataclasses, functools, itertools, operator, types\n"
    "flag = True\n"
)
MODEL = (
    "def build():\n"
    "    ids, label = tf.placeholder(tf.int64, [None]), tf.placeholder(tf.float32, [None])\n"
    '    item = tf.get_variable("item", [8, 4])\n'
    '    scale = tf.get_variable("scale", [], initializer=tf.ones_initializer())\n'
    "    rows = tf.nn.embedding_lookup(item, ids)\n"
    "    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) * scale - label) ** 2)\n"
    "    opt = tf.train.AdamOptimizer(0.1, beta1=0.8)\n"
)
END = '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
#: What travels, and how the step reads it.
KINDS = {
    "variables": ("tf.trainable_variables()", "opt.minimize(loss, var_list={})"),
    "gradients": ("opt.compute_gradients(loss)", "opt.apply_gradients({})"),
    "its list": ("tf.trainable_variables()", "opt.apply_gradients(opt.compute_gradients(loss, {}))"),
}
WAYS = [(kind, way) for kind in KINDS for way in followed("gradients" if kind == "gradients" else "var_list")]
OFTEN = random.Random(5).sample(WAYS, 6)


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        pytest.param(*one, id=f"{one[0]}-{one[1].name}", marks=[] if one in OFTEN else [pytest.mark.soak])
        for one in WAYS
    ],
)
def test_a_list_that_travels_trains_as_before(kind: str, way: Way, tmp_path: Path) -> None:
    made, step = KINDS[kind]
    one = way.given(made)
    lines = f"{one.definitions}{one.binding}train_op = {step.format(one.read)}\n"
    trains_alike(tmp_path / "p", {"main.py": f"{HEAD}{MODEL}{textwrap.indent(lines, '    ')}{END}"})


TAKEN = "p = opt.compute_gradients(loss)\n"
ALL = "v = tf.trainable_variables()\n"
APPLY = "train_op = opt.apply_gradients({})\n"
TRAIN = "train_op = opt.minimize(loss, var_list={})\n"
MADE = 'late = tf.get_variable("late", [2])\nloss += tf.reduce_sum(late ** 2)\n'
CHANGED = {
    "rebound": TAKEN + "p = p[1:]\n" + APPLY.format("p"),
    "rebound under a flag": TAKEN + "if not flag:\n    p = p[1:]\n" + APPLY.format("p"),
    "reversed": TAKEN + APPLY.format("p[::-1]"),
    "sorted": TAKEN + APPLY.format("sorted(p, key=lambda x: x[1].name)"),
    "filtered by a name": TAKEN + APPLY.format("[(g, x) for g, x in p if 'item' in x.name]"),
    "appended to by another name": TAKEN + "q = p\nq.append(p[0])\n" + APPLY.format("p"),
    "appended to in a function": "def add(x):\n    x.append(x[0])\n" + TAKEN + "add(p)\n" + APPLY.format("p"),
    "appended to in a container": TAKEN + "d = {'p': p}\nd['p'].pop()\n" + APPLY.format("p"),
    "an entry is set": TAKEN + "p[0] = p[1]\n" + APPLY.format("p"),
    "an entry is deleted": TAKEN + "q = [p]\ndel q[0][0]\n" + APPLY.format("p"),
    "added to": TAKEN + "q = p\nq += p[:1]\n" + APPLY.format("p"),
    "two of which a flag chooses": TAKEN + "q = opt.compute_gradients(2 * loss)\n" + APPLY.format("p if flag else q"),
    "one entry is read": TAKEN + "q = [p]\nnorm = tf.norm(q[0][0][0])\n" + APPLY.format("p"),
    "code that is not seen gets it": "import other\n" + TAKEN + "other.change(p)\n" + APPLY.format("p"),
    "that code gets what holds it": "import other\n" + TAKEN + "d = {'p': [p]}\nother.change(d)\n" + APPLY.format("p"),
    "a variable made in between": (
        "def take():\n    return opt.compute_gradients(loss)\ndef give(p):\n    " + MADE.splitlines()[0] + "\n"
        "    return opt.apply_gradients(p)\ntrain_op = give(take())\n"
    ),
    "a variable made behind it": "def take():\n    return opt.compute_gradients(loss)\np = take()\n"
    + MADE
    + APPLY.format("p"),
    "kept in a loop that makes variables": (
        "kept = []\nfor i in range(2):\n    late = tf.get_variable('late%d' % i, [2])\n"
        "    kept.append(opt.compute_gradients(loss + tf.reduce_sum(late)))\n" + APPLY.format("kept[0]")
    ),
    "one turn late": (
        "p = None\nfor i in range(2):\n    late = tf.get_variable('late%d' % i, [2])\n    q = p\n"
        "    p = opt.compute_gradients(loss + tf.reduce_sum(late))\n" + APPLY.format("q")
    ),
    "one turn late, by a list that is kept": (
        "kept = []\nfor i in range(2):\n    late = tf.get_variable('late%d' % i, [2])\n"
        "    kept.append(opt.compute_gradients(loss + tf.reduce_sum(late)))\n    " + APPLY.format("kept[0]")
    ),
    "variables: those of the first call": (
        "kept = {}\ndef step(x):\n    if 'v' not in kept:\n        kept['v'] = tf.trainable_variables()\n"
        "    return opt.minimize(x, var_list=kept['v'])\nfirst = step(loss)\n" + MADE + "train_op = step(loss)\n"
    ),
    "variables: those of the first call, by a default": (
        "kept = {}\ndef step(x):\n    v = kept.setdefault('v', tf.trainable_variables())\n"
        "    return opt.minimize(x, var_list=v)\nfirst = step(loss)\n" + MADE + "train_op = step(loss)\n"
    ),
    "a lambda": "take = lambda: opt.compute_gradients(loss)\n" + APPLY.format("take()"),
    "variables: a part": ALL + "d = [v]\n" + TRAIN.format("d[0][1:]"),
    "variables: changed by another name": ALL + "d = [v]\nd[0].remove(v[0])\n" + TRAIN.format("d[0]"),
    "variables: read": ALL + "d = [v]\nnorm = sum(tf.nn.l2_loss(x) for x in d[0])\n" + TRAIN.format("d[0]"),
    "variables: summed": ALL + "d = [v]\nw = sum(d, [])\n" + TRAIN.format("d[0]"),
    "variables: saved": ALL + "d = {'v': v}\nsaver = tf.train.Saver(d['v'])\n" + TRAIN.format("d['v']"),
    "variables: too early": "d = [tf.trainable_variables()]\n" + MADE + TRAIN.format("d[0]"),
    "variables: too early, by a function below": (
        "def make():\n    return tf.trainable_variables()\nd = make()\n" + MADE + TRAIN.format("d")
    ),
    "variables: an object's method that others may call": (
        "class N:\n    def __init__(self):\n        self.v = tf.trainable_variables()\n    def decay(self):\n"
        "        return tf.add_n([tf.nn.l2_loss(x) for x in self.v])\n" + TRAIN.format("N().v")
    ),
    "variables: a property makes one": (
        "class N:\n    @property\n    def late(self):\n        return tf.get_variable('late', [2])\n"
        "d = [tf.trainable_variables()]\nloss += tf.reduce_sum(N().late)\n" + TRAIN.format("d[0]")
    ),
    "variables: what gives them makes one": (
        "def make():\n    tf.get_variable('late', [2])\n    return tf.trainable_variables()\n" + TRAIN.format("make()")
    ),
}
SAME = {
    "clipped under a flag": TAKEN
    + "if flag:\n    p = [(tf.clip_by_value(g, -0.1, 0.1), x) for g, x in p]\n"
    + APPLY.format("p"),
    "a zip that has a name": ALL + "z = zip(tf.gradients(loss, v), v)\n" + APPLY.format("z"),
}


@pytest.mark.parametrize("lines", CHANGED.values(), ids=CHANGED)
def test_a_list_that_may_be_another_keeps_the_table(lines: str, tmp_path: Path) -> None:
    text = f"{HEAD}{MODEL}{textwrap.indent(lines, '    ')}{END}"
    results = convert(write(tmp_path / "p", {"main.py": text}))
    assert verdicts(results) == {"item": "unsupported"}, results["main.py"].converted


@pytest.mark.parametrize("lines", SAME.values(), ids=SAME)
def test_a_list_that_stays_what_it_is_trains_as_before(lines: str, tmp_path: Path) -> None:
    trains_alike(tmp_path / "p", {"main.py": f"{HEAD}{MODEL}{textwrap.indent(lines, '    ')}{END}"})
