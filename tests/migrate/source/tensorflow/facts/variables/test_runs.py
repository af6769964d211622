"""Code that may run several times makes as many tables as there were variables."""

from __future__ import annotations

import pytest

from tests.support.source.converting import converted, reasons, stays
from tests.support.source.scripts import HEAD, TRAIN, compare

IDS = "ids = tf.constant([1, 2, 1], tf.int64)\n"
LOSS = "loss = tf.reduce_sum(tf.square(p - 2 * q + 1.0))\n"
MADE = 'W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))\n'
NET = f"def net(x):\n    {MADE}    return tf.nn.embedding_lookup(W, x)\n"
OBJECT = f"class Net:\n    def __call__(self, x):\n        {MADE}        return tf.nn.embedding_lookup(W, x)\n"
UNNAMED = NET.replace(MADE, "W = tf.Variable(tf.zeros([9, 4]))\n")
HOLDER = (
    "class M:\n    def __init__(self):\n        self.W = tf.Variable(tf.zeros([9, 4]))\n"
    "    def look(self, x):\n        return tf.nn.embedding_lookup(self.W, x)\n"
)
TWO_SCOPES = 'with tf.variable_scope("a"):\n    p = {0}(ids)\nwith tf.variable_scope("b"):\n    q = {0}(ids)\n'

#: Variables of scopes that are known when the program runs: their tables ask for them then.
SCOPED = {
    "an object that is called": OBJECT + TWO_SCOPES.format("Net()"),
    "an object in a variable": OBJECT + "net = Net()\n" + TWO_SCOPES.format("net"),
    "an object in an attribute": OBJECT
    + "class Outer:\n    def __init__(self, net):\n        self.net = net\n    def run(self, s):\n"
    "        with tf.variable_scope(s):\n            return self.net(ids)\n"
    'o = Outer(Net())\np, q = o.run("a"), o.run("b")\n',
    "a layer": OBJECT.replace("Net:", "Net(tf.layers.Layer):").replace("__call__", "call")
    + "net = Net()\n"
    + TWO_SCOPES.format("net"),
    "partial": "import functools\n" + NET + "f = functools.partial(net)\n" + TWO_SCOPES.format("f"),
    "many callers": NET
    + "".join(f"def f{i}(x):\n    return {f'f{i - 1}' if i else 'net'}(x)\n" for i in range(15))
    + TWO_SCOPES.format("f14"),
    "an exit stack": "import contextlib\nstack = contextlib.ExitStack()\n"
    + 'stack.enter_context(tf.variable_scope("a"))\np = tf.nn.embedding_lookup(\n    '
    + MADE.removeprefix("W = ").rstrip()
    + ", ids)\nstack.close()\n"
    + MADE
    + "q = tf.nn.embedding_lookup(W, ids)\n",
    "a scope that is entered by hand": 'c = tf.variable_scope("a")\n'
    + MADE
    + "c.__enter__()\n"
    + MADE.replace("W", "V")
    + "c.__exit__(None, None, None)\np, q = tf.nn.embedding_lookup(W, ids), tf.nn.embedding_lookup(V, ids)\n",
}
SEVERAL = {
    "a caller that is called twice": UNNAMED + "def both(x):\n    return net(x)\np, q = both(ids), both(ids)\n",
    "a function that makes objects": HOLDER
    + "def make():\n    return M()\np, q = make().look(ids), make().look(ids)\n",
    "an object made by objects": HOLDER
    + "class Pair:\n    def __init__(self):\n        self.m = M()\n        self.e = self.m.look(ids)\n"
    + "p, q = Pair().e, Pair().e\n",
    "a caller in a loop": UNNAMED
    + "def both(x):\n    return net(x)\nfound = []\nfor _ in range(2):\n    found.append(both(ids))\np, q = found\n",
}
SEVERAL["a decorator that calls it twice"] = (
    "def twice(f):\n    def inner(x):\n        return f(x) - 2 * f(x)\n    return inner\n@twice\n"
    + UNNAMED
    + "p, q = net(ids), 0.0\n"
)
MAKE = "def make():\n    return tf.Variable(tf.zeros([9, 4]))\n"
PAIR = "p, q = tf.nn.embedding_lookup({}, ids), tf.nn.embedding_lookup({}, ids)\n"
SEVERAL["a dict that makes its entries"] = (
    "import collections\n" + MAKE + "found = collections.defaultdict(make)\n" + PAIR.format("found[0]", "found[1]")
)
SEVERAL["a field that makes its values"] = (
    "import dataclasses\n" + MAKE + "@dataclasses.dataclass\nclass M:\n"
    "    W: object = dataclasses.field(default_factory=make)\n" + PAIR.format("M().W", "M().W")
)
SEVERAL["an iterator that calls it"] = MAKE + "found = iter(make, None)\n" + PAIR.format("next(found)", "next(found)")
CALLS_ITSELF = (
    "def rec(n, x):\n    W = tf.Variable(tf.zeros([9, 4]))\n    e = tf.nn.embedding_lookup(W, x)\n"
    "    return e if n == 0 else e - 2 * rec(n - 1, x)\np, q = rec(2, ids), 0.0\n"
)
DENSE = 'b = tf.get_variable("b", [4], initializer=tf.ones_initializer())\n'


@pytest.mark.parametrize("code", SEVERAL.values(), ids=SEVERAL)
def test_each_run_makes_a_table_of_its_own(code: str) -> None:
    result = converted(HEAD + IDS + DENSE + code + LOSS + TRAIN)
    assert 'name=unique_name("' in result.converted, reasons(result)
    assert [table.identity for table in result.tables] == ["run time"]


@pytest.mark.parametrize(
    "name", ["a function that makes objects", "a decorator that calls it twice", "a dict that makes its entries"]
)
def test_tables_of_several_runs_train_as_the_variables(name: str) -> None:
    compare(HEAD + IDS + DENSE + SEVERAL[name] + LOSS.replace("1.0", "b") + TRAIN)


#: `tf.Variable` makes a new variable, whatever the scope says of those of `get_variable`.
UNDER_REUSE = {
    "twice, allowed": UNNAMED + 'with tf.variable_scope("a", reuse=tf.AUTO_REUSE):\n    p, q = net(ids), net(ids)\n',
    "in two scopes, allowed": UNNAMED
    + 'def both():\n    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):\n        return net(ids)\n'
    + "p, q = both(), both()\n",
    "twice, demanded": UNNAMED
    + 'with tf.variable_scope("a"):\n    p = net(ids)\nwith tf.variable_scope("a", reuse=True):\n    q = net(ids)\n',
    "once, demanded": 'with tf.variable_scope("a", reuse=True):\n    W = tf.Variable(tf.zeros([9, 4]), name="w")\n'
    "    p = tf.nn.embedding_lookup(W, ids)\nq = 0.0\n",
    "beside variables that are reused": UNNAMED + 'def both():\n    with tf.variable_scope("a", reuse=tf.AUTO_REUSE):\n'
    '        return net(ids) + tf.get_variable("c", [4], initializer=tf.ones_initializer())\np, q = both(), both()\n',
}


@pytest.mark.parametrize("code", UNDER_REUSE.values(), ids=UNDER_REUSE)
def test_a_variable_is_new_under_reuse(code: str) -> None:
    compare(HEAD + IDS + DENSE + code + LOSS.replace("1.0", "b") + TRAIN)


def test_a_fixed_name_is_none_that_numbers_may_give() -> None:
    code = 'W = [tf.Variable(tf.zeros([9, 4]), name="w") for _ in range(2)]\n' + MADE.replace("W", "V")
    code += "p, q = tf.nn.embedding_lookup(W[0], ids), tf.nn.embedding_lookup(V, ids)\n"
    text = converted(HEAD + IDS + DENSE + code + LOSS + TRAIN).converted
    assert 'name=unique_name("w")' in text and 'name="w_table"' in text


#: Name -> code of which the runs are not all seen, or where a table that exists may be given.
STAYS = {
    "a function that calls itself": (CALLS_ITSELF, "not all code that runs it is known"),
    "under reuse, by a name that is computed": (
        "def net(keys, name):\n    W = tf.Variable(tf.zeros([9, 4]), name=name())\n"
        "    return tf.nn.embedding_lookup(W, keys)\n"
        'p, q = net(ids, named), net(ids, named)\nwith tf.variable_scope("s", reuse=True):\n    r = net(ids, named)\n',
        "reuse=True",
    ),
}


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
def test_what_may_be_several_variables_stays(code: str, said: str) -> None:
    text = HEAD + IDS + code + LOSS + TRAIN
    stays(text, "may run several times", assume=True)


@pytest.mark.parametrize("code", SCOPED.values(), ids=SCOPED)
def test_tables_of_scopes_are_those_of_the_variables(code: str) -> None:
    text = HEAD + IDS + DENSE + code + LOSS.replace("1.0", "b") + TRAIN
    assert "scoped_name(" in converted(text).converted
    compare(text, tables=code.count("get_variable("))
