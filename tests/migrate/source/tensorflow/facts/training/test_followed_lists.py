"""Lists of all variables and of gradients that travel to their step: converted, run and compared, or kept."""

from __future__ import annotations

import random
import textwrap
from pathlib import Path

import pytest

from tests.support.source.projects import convert, reasons, same_training, verdicts, write
from tests.support.source.travels import TRAVELS, Travel

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
#: Ways of lists that stock TensorFlow and Python refuse: these are no keys, and no defaults of a dataclass.
NONE = {"a set", "as a key", "as a key in a loop", "its default"}
#: Ways that the analysis does not follow, or that take entries out of what held the list.
UNKNOWN = {
    "a match in a list", "a filtered one", "its factory", "__getattr__", "__new__", "global, set before",
    "what a generator is sent", "itemgetter", "attrgetter", "a class that is made", "a function's attribute", "globals",
    "exec",
}  # fmt: skip
#: Reads that do more than to give the list, which a split step leaves out, and a key that is put together.
READS = {"pop", "pop of a dict", "a generator", "a deque", "an f-string"}
#: Where gradients are taken in a loop, in the body of a class, or in a definition.
PLACES = {
    "a dict comprehension",
    "in a class",
    "in a class, by an object",
    "a default",
    "a lambda's default",
    "a decorator with arguments",
}
#: Where a list is made in another scope than its step: what a split names there, the step could not read.
CLASS = {"in a class", "in a class, by an object"}
STAY = {"variables": UNKNOWN | READS, "gradients": UNKNOWN | PLACES, "its list": UNKNOWN | READS | CLASS}


def program(way: Travel, kind: str) -> str:
    """Return a model in which that travels by that way."""
    made, step = KINDS[kind]
    text = way.text(made, 0)
    lines = textwrap.indent(text.lines, "    ")
    return f"{HEAD}{MODEL}{lines}\n    train_op = {step.format(text.read)}\n{END}"


WAYS = [(kind, way) for kind in KINDS for way in TRAVELS if way.name not in NONE]
FOLLOWED = [(kind, way) for kind, way in WAYS if way.name not in STAY[kind]]
OFTEN = {
    (kind, way.name)
    for part in KINDS
    for kind, way in random.Random(5).sample([o for o in FOLLOWED if o[0] == part], 2)
}


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        pytest.param(kind, way, id=f"{kind}-{way.name}", marks=[] if (kind, way.name) in OFTEN else [pytest.mark.soak])
        for kind, way in FOLLOWED
    ],
)
def test_a_list_that_travels_trains_as_before(kind: str, way: Travel, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": program(way, kind)})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


@pytest.mark.parametrize(
    ("kind", "way"),
    [pytest.param(kind, way, id=f"{kind}-{way.name}") for kind, way in WAYS if way.name in STAY[kind]],
)
def test_a_list_that_is_not_followed_keeps_the_table(kind: str, way: Travel, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", {"main.py": program(way, kind)}))
    assert verdicts(results) == {"item": "unsupported"}, results["main.py"].converted


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
    "applied twice": TAKEN
    + "d = [p]\nfirst = opt.apply_gradients(d[0])\nwith tf.control_dependencies([first]):\n    "
    + APPLY.format("d[0]"),
    "clipped under a flag": TAKEN
    + "if flag:\n    p = [(tf.clip_by_value(g, -0.1, 0.1), x) for g, x in p]\n"
    + APPLY.format("p"),
    "given to two steps": (
        ALL + "d = {'v': v}\nfirst = opt.minimize(loss, var_list=d['v'])\n"
        "with tf.control_dependencies([first]):\n    " + TRAIN.format("d['v']")
    ),
    "by another optimizer": (
        "other = tf.train.GradientDescentOptimizer(0.1)\nd = [other.compute_gradients(loss)]\n" + APPLY.format("d[0]")
    ),
    "taken in a loop": "d = []\nfor i in range(2):\n    d.append(opt.compute_gradients(loss))\n" + APPLY.format("d[1]"),
    "another variable before both": (
        "def take():\n    return opt.compute_gradients(loss)\n" + MADE + "d = [take()]\n" + APPLY.format("d[0]")
    ),
    "a zip that has a name": ALL + "z = zip(tf.gradients(loss, v), v)\n" + APPLY.format("z"),
    "a zip in a list": ALL + "z = [zip(tf.gradients(loss, v), v)]\n" + APPLY.format("z[0]"),
    "taken apart elsewhere": (
        "def apart(p):\n    g, x = zip(*p)\n    g, _ = tf.clip_by_global_norm(g, 0.5)\n    return list(zip(g, x))\n"
        + TAKEN
        + APPLY.format("apart(p)")
    ),
}


@pytest.mark.parametrize("lines", CHANGED.values(), ids=CHANGED)
def test_a_list_that_may_be_another_keeps_the_table(lines: str, tmp_path: Path) -> None:
    text = f"{HEAD}{MODEL}{textwrap.indent(lines, '    ')}{END}"
    results = convert(write(tmp_path / "p", {"main.py": text}))
    assert verdicts(results) == {"item": "unsupported"}, results["main.py"].converted


@pytest.mark.parametrize("lines", SAME.values(), ids=SAME)
def test_a_list_that_stays_what_it_is_trains_as_before(lines: str, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": f"{HEAD}{MODEL}{textwrap.indent(lines, '    ')}{END}"})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


@pytest.mark.parametrize(
    "step", ["opt.minimize(loss, var_list=d[0])", "opt.apply_gradients(opt.compute_gradients(loss, d[0]))"]
)
def test_a_model_of_tables_alone_trains_as_before(step: str, tmp_path: Path) -> None:
    model = MODEL.replace('tf.get_variable("scale", [], initializer=tf.ones_initializer())', "2.0")
    lines = f"    def take():\n        return [tf.trainable_variables()]\n    d = take()\n    train_op = {step}\n"
    root = write(tmp_path / "p", {"main.py": f"{HEAD}{model}{lines}{END}"})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)
