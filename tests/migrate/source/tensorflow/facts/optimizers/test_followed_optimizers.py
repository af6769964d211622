"""Optimizers that travel to their step by names, containers, objects and calls: converted, run and compared."""

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
)
END = '    return {"ids": ids, "label": label, "loss": loss, "train_op": train_op, "rows": rows}\n'
MAKER = "tf.train.AdamOptimizer(0.1, beta1=0.8)"
#: Ways that the analysis does not follow, or that make the optimizer in a loop, or use it more than once, or compare
#: it by an operator that may run a method of its class.
STAY = {
    "a loop", "a loop that is left", "its factory", "a filtered one",
    "a while", "setattr of many", "a key put together",
    "an f-string", "format", "a match in a list", "__getattr__", "__new__",
    "what a generator is sent", "itemgetter", "attrgetter", "a class that is made", "a function's attribute", "globals",
    "exec", "global, set before",
}  # fmt: skip


def program(way: Travel) -> str:
    """Return a model whose optimizer travels by that way."""
    text = way.text(MAKER, 0)
    lines = textwrap.indent(text.lines, "    ")
    return f"{HEAD}{MODEL}{lines}\n    train_op = {text.read}.minimize(loss)\n{END}"


FOLLOWED = [way for way in TRAVELS if way.name not in STAY]
OFTEN = {way.name for way in random.Random(5).sample(FOLLOWED, 6)}


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, id=way.name, marks=[] if way.name in OFTEN else [pytest.mark.soak]) for way in FOLLOWED],
)
def test_an_optimizer_that_travels_trains_as_before(way: Travel, tmp_path: Path) -> None:
    root = write(tmp_path / "p", {"main.py": program(way)})
    results = convert(root)
    assert verdicts(results) == {"item": "applied"}, reasons(results)
    same_training(root, results)


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in TRAVELS if way.name in STAY])
def test_an_optimizer_that_is_not_followed_keeps_the_table(way: Travel, tmp_path: Path) -> None:
    results = convert(write(tmp_path / "p", {"main.py": program(way)}))
    assert verdicts(results) == {"item": "unsupported"}, results["main.py"].converted


#: What changes the rate, or the optimizer, without a name for it; each trained with another rate than the original.
CHANGED = {
    "an attribute, by setattr": (
        "class C:\n    r = 0.1\n",
        'c = C()\nx = [tf.train.AdagradOptimizer(c.r)]\nsetattr(c, "r", 0.9)\ntrain_op = x[0].minimize(loss)',
    ),
    "a parameter of the name": (
        'R = 0.1\ndef step(d, R, loss):\n    return d["o"].minimize(loss)\n',
        'train_op = step({"o": tf.train.AdagradOptimizer(R)}, 0.9, loss)',
    ),
    "the optimizer, by setattr": (
        "",
        'x = [tf.train.AdagradOptimizer(0.1)]\nsetattr(x[0], "_learning_rate", 0.9)\ntrain_op = x[0].minimize(loss)',
    ),
    "the optimizer, by map": (
        "",
        'x = [tf.train.AdagradOptimizer(0.1)]\nlist(map(setattr, x, ["_learning_rate"], [0.9]))\n'
        "train_op = x[0].minimize(loss)",
    ),
    "the optimizer, by vars": (
        "",
        'x = [tf.train.AdagradOptimizer(0.1)]\nvars(x[0])["_learning_rate"] = 0.9\ntrain_op = x[0].minimize(loss)',
    ),
}


@pytest.mark.parametrize("name", CHANGED)
def test_an_optimizer_that_is_changed_keeps_the_table(name: str, tmp_path: Path) -> None:
    top, lines = CHANGED[name]
    body = textwrap.indent(lines, "    ")
    results = convert(write(tmp_path / "p", {"main.py": f"{HEAD}{top}{MODEL}{body}\n{END}"}))
    assert verdicts(results) == {"item": "unsupported"}, results["main.py"].converted
