"""Programs that were found by trying to get a table past the value flow: each stays, or trains as before."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.source.converting import converted
from tests.support.source.scripts import HEAD, TRAIN, shown

pytest.importorskip("tensorflow")

MADE = """import collections, functools, inspect, itertools
ids = tf.constant([1, 2, 1, 0], tf.int64)
flag = True
b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
"""
W = 'tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))'


LOSS = "loss = tf.reduce_mean(tf.square(e * b - 1.0))\n"


TO_PARTS = 'W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5), partitioner=PARTS)\n'.replace(
    "PARTS", "tf.fixed_size_partitioner(2)"
)
#: What reads the parts of a partitioned variable one by one.
PARTS = (
    "tf.reduce_mean(list(W)[0])", "sum(tf.nn.l2_loss(p) for p in W)", "tf.add_n([tf.nn.l2_loss(p) for p in W])",
    "tf.reduce_mean((lambda x, y: x)(*W))", "tf.reduce_mean([*W][0])", "tf.reduce_mean(tuple(W)[1])",
    "tf.reduce_mean(dict(enumerate(W))[1])", "tf.reduce_mean(sorted(W, key=lambda v: v.name)[1])",
    "tf.add_n(list(map(tf.nn.l2_loss, W)))", "tf.reduce_mean(next(iter(W)))", "tf.reduce_mean(list(zip(W, W))[0][1])",
    "functools.reduce(lambda x, y: x + tf.reduce_mean(y), W, 0.0)", "tf.reduce_mean(list(itertools.chain(W))[0])",
    "tf.reduce_mean(collections.deque(W)[0])", "float(len(list(W)))",
)  # fmt: skip
#: Functions that give the table back by a flag, with their calls: the constant that the call gives decides otherwise.
FLAGS = {
    "1 is not True": ("t=False", "", "t is True", "0.0", "W", "t=1"),
    "0 is not False": ("t=False", "", "t is not False", "W", "0.0", "t=0"),
    "rebound": ("t=False", "t = not t", "t", "W", "0.0", ""),
    "captured": ("t=False", "match 1:\n        case t: pass", "t", "W", "0.0", ""),
    "captured by a star": ("t=False", "match [1]:\n        case [*t]: pass", "t", "W", "0.0", ""),
    "captured as the rest": ("t=False", "match {1: 2}:\n        case {**t}: pass", "t", "W", "0.0", ""),
    "captured by as": ("t=False", "match 5:\n        case 5 as t: pass", "t", "W", "0.0", ""),
    "nonlocal": ("t=False", "def g():\n        nonlocal t\n        t = True\n    g()", "t", "W", "0.0", ""),
    "keyword of another name": ("t=False, /, **more", "", "t", "0.0", "W", "t=True"),
}
FLAG = f"""def f(ids, PARAMETERS):
    W = {W}
    e = tf.nn.embedding_lookup(W, ids)
    BEFORE
    if TEST: return e, FIRST
    return e, OTHER
CHANGE
e, x = f(ids, GIVEN)
e = e + tf.reduce_mean(x)
"""


def _flag(parameters: str, before: str, test: str, first: str, other: str, given: str, change: str = "") -> str:
    parts = {"PARAMETERS": parameters, "BEFORE": before or "pass", "TEST": test, "FIRST": first, "OTHER": other}
    text = FLAG
    for name, part in {**parts, "GIVEN": given, "CHANGE": change}.items():
        text = text.replace(name, part)
    return text


LOOKED = "e = tf.nn.embedding_lookup(W, ids)\n"
BY_FUNCTION = f"def f(): return tf.nn.embedding_lookup(f.W, ids)\nf.W = {W}\ne = f() + "
STAY = {
    **{f"parts: {text}": TO_PARTS + LOOKED + f"e = e + {text}\n" for text in PARTS},
    "parts in a loop": TO_PARTS + LOOKED + "for p in W:\n    e = e + tf.reduce_mean(p)\n",
    "parts with names": TO_PARTS + LOOKED + "x, y = W\ne = e + tf.reduce_mean(x)\n",
    "parts yielded": TO_PARTS + LOOKED + "def g(): yield from W\ne = e + tf.reduce_mean(list(g())[0])\n",
    "parts put in a slice": TO_PARTS + LOOKED + "l = [1]\nl[:] = W\ne = e + tf.reduce_mean(l[0])\n",
    **{f"flag: {name}": _flag(*parts) for name, parts in FLAGS.items()},
    "flag: defaults": _flag("t=False", "", "t", "W", "0.0", "", "f.__defaults__ = (True,)"),
    "flag: defaults by name": _flag("*, t=False", "", "t", "W", "0.0", "", 'f.__kwdefaults__["t"] = True'),
    "padding: shifted twice": f"class C: pass\nc = C()\nc.W = {W}\nfor i in range(2):\n"
    "    c.W = tf.concat([tf.zeros([1, 4]), c.W], 0)\ne = tf.nn.embedding_lookup(c.W, ids)\n",
    "generator returns": f"def g(W):\n    yield 1\n    return W\nW = {W}\n{LOOKED}"
    "def h():\n    x = yield from g(W)\n    yield tf.reduce_mean(x)\ne = e + list(h())[1]\n",
    "function: __dict__": BY_FUNCTION + 'tf.reduce_mean(f.__dict__["W"])\n',
    "function: vars": BY_FUNCTION + 'tf.reduce_mean(vars(f)["W"])\n',
    "function: values": BY_FUNCTION + "sum(map(tf.reduce_mean, f.__dict__.values()))\n",
    "function: getattr": BY_FUNCTION + "tf.reduce_mean(getattr(f, chr(87)))\n",
    "frame": f"W = {W}\n{LOOKED}e = e + tf.reduce_mean(inspect.currentframe().f_globals['W'])\n",
    "cell": f"def f():\n    W = {W}\n    return lambda: tf.nn.embedding_lookup(W, ids)\ng = f()\n"
    "e = g() + tf.reduce_mean(g.__closure__[0].cell_contents)\n",
    "chosen by place": f"W = {W}\n{LOOKED}e = e + tf.reduce_mean((1.0, W)[flag])\n",
    "default": f"W = {W}\ndef f(t=W): return tf.nn.embedding_lookup(t, ids)\n"
    "e = f() + tf.reduce_mean(f.__defaults__[0])\n",
}


@pytest.mark.parametrize("body", STAY.values(), ids=STAY)
def test_it_stays(body: str) -> None:
    text = HEAD + MADE + body + LOSS + TRAIN
    assert converted(text).converted == text
    assumed = converted(text, assume=True).converted
    if "trainable=True" in assumed:  # the whole table is seen, and read as such
        for want, got in zip(shown(text), shown(assumed), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-5)
    else:
        assert assumed == text


STEP = "tf.train.AdagradOptimizer(0.1).minimize(loss"


@pytest.mark.parametrize("chosen", ["l[-1], l[-2]", "*[v for v in (W, b)]"], ids=["from the end", "in a loop"])
def test_a_member_that_may_be_a_table_or_not_is_not_known(chosen: str) -> None:
    made = f"W = {W}\n{LOOKED}l = [W, b]\n{LOSS}m = []\nfor x in [{chosen}]: m.append(x)\n"
    for listed in (f"[{chosen}]", "m"):
        text = HEAD + MADE + made + TRAIN.replace(STEP, f"{STEP}, var_list={listed}")
        assert converted(text, assume=True).converted == text
