"""One table is one variable: who runs what makes it, in which scopes, and under which other names it is read."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons, stays

BUILD = HEAD + "def build(x):\n    " + MADE + "    return tf.nn.embedding_lookup(W, x)\n"
SCOPE = "with tf.variable_scope({}, reuse=tf.AUTO_REUSE):\n    "
BASE = HEAD + (
    "class Base(object):\n"
    "    def __init__(self, k):\n"
    "        self.W = {made}\n"
    "        self.e = k * tf.nn.embedding_lookup(self.W, ids)\n"
    "class A(Base):\n    pass\n"
    "class B(Base):\n    pass\n"
)
GET = MADE.strip().removeprefix("W = ")
NEW = 'tf.Variable(tf.zeros([9, 4]), name="w")'
PAD = "W = tf.concat([tf.zeros([1, 4]), W[1:, :]], 0)\n"
SEVERAL = "may run several times"
CASES = {
    "lambdas in two scopes": (
        BUILD + "".join(SCOPE.format(repr(n)) + f"{n} = tf.cond(f, lambda: build(ids), g)\n" for n in "ab"),
        "created by `tf.cond`",
    ),
    "class in a dict": (BASE.format(made=NEW) + 'M = {"m": Base}\ncls = M["m"]\na, b = cls(1.0), cls(2.0)\n', SEVERAL),
    "computed name": (
        HEAD + 'with tf.variable_scope("emb") as sc:\n    ' + MADE + LOOKUP + "for n in names:\n    "
        "with tf.variable_scope(sc, reuse=True):\n        x += tf.nn.l2_loss(tf.get_variable(n))\n",
        "its name is computed",
    ),
    "computed name that another variable has": (
        HEAD + "def f(n):\n    " + SCOPE.format('"s"') + "    return " + GET.replace('"w"', '"a_" + n')
        + "\ndef g():\n    " + SCOPE.format('"s"') + '    return tf.get_variable("a_b", [9, 4])\n'
        "x = tf.gather(f(n), ids) + tf.reduce_sum(g())\n",
        "may be the same variable",
    ),
    "computed name in a scope that is not known": (
        HEAD + "def make(n):\n    " + SCOPE.format("q") + '    return tf.get_variable("x_" + n, [9, 4])\n'
        'with tf.variable_scope("s"):\n    W = ' + GET.replace('"w"', '"x_w"') + "\n" + LOOKUP + "V = make(n)\n",
        "it may reuse `x_w`",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.each_case
def test_what_may_be_another_variable_stays(name: str) -> None:
    text, reason = CASES[name]
    text += "o = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
    stays(text, reason, assume=True)


#: A variable of each run of a loop, under a name scope and without one, and whether it may be called as `s/b` is.
SUFFIXED = {
    "computed": ('"x_" + n', "", True),
    "in a name scope": ('"b"', "with tf.name_scope(n):\n    ", True),
    "by a number alone": ('"c"', "", False),
}


@pytest.mark.parametrize(("name", "scope", "may"), SUFFIXED.values(), ids=SUFFIXED)
@pytest.mark.each_case
def test_a_suffixed_name_may_be_that_of_another_table(name: str, scope: str, may: bool) -> None:
    fixed = SCOPE.format('"s"') + "W = " + GET.replace('"w"', '"x/b"') + "\n" + LOOKUP
    loop = f"for n in names:\n    {scope}    x += tf.gather(tf.Variable(tf.zeros([9, 4]), name={name}), ids)\n"
    result = converted(HEAD + fixed + loop + STEP, assume=True)
    assert ("may have the same name" in reasons(result)) is may
    assert "scoped_name" not in result.converted and 'name="s_x_b"' in result.converted


ORDINARY = {
    "graph, session, device, file": HEAD + "g = tf.Graph()\nwith g.as_default(), tf.Session() as s, open(f) as h:\n"
    '    with tf.device("/cpu:0"), tf.name_scope("n"), tf.variable_scope("a"):\n        ' + MADE + "    " + LOOKUP
    + "    " + STEP,
    "model_fn": HEAD + "def model_fn(features, labels, mode):\n    with tf.variable_scope('a'):\n        " + MADE
    + "        " + LOOKUP + "    " + STEP + "    return loss\n"
    "est = tf.estimator.Estimator(model_fn=model_fn)\n",
    "method": HEAD + "class M(object):\n    def __init__(self):\n        with tf.variable_scope('a'):\n"
    "            self.build()\n    def build(self):\n        " + MADE + "        " + LOOKUP
    + "        " + STEP + "M()\n",
    "subclass": BASE.format(made=GET) + "with tf.variable_scope('a'):\n    m = A(1.0)\n" + STEP,
    "other names": HEAD + "with tf.variable_scope('emb', reuse=tf.AUTO_REUSE):\n    " + MADE + "    " + LOOKUP
    + "for i in range(3):\n    h = tf.get_variable('h%d' % i, [4, 4])\n    c = tf.get_variable(n, [4])\n" + STEP,
}  # fmt: skip


@pytest.mark.parametrize("name", ORDINARY)
def test_ordinary_scopes_and_callers_hinder_nothing(name: str) -> None:
    assert "create_table(" in converted(ORDINARY[name], assume=True).converted, reasons(
        converted(ORDINARY[name], assume=True)
    )


OF_MODEL = (
    "class M:\n    @property\n    def e(self):\n        {0}        return tf.nn.embedding_lookup(W, ids)\n"
    "m = M()\nwith tf.variable_scope('a'):\n    loss = {1}\n"
)
ONCE = "def once(f):\n    def g(*a):\n        return f(*a)\n    return g\n@once\n"
#: What makes a variable -> the name of its table.
TOLD = {
    "a graph, a session, a device, a file": (ORDINARY["graph, session, device, file"], 'name="a_w"'),
    "a property": (HEAD + OF_MODEL.format(MADE, "tf.reduce_sum(m.e)") + STEP, 'name="a_w"'),
    "a property that is read twice": (
        HEAD + OF_MODEL.format(f"W = {NEW}\n", "tf.reduce_sum(m.e) + m.e") + STEP, 'name=unique_name("w")'),
    "a decorator that calls once": (
        HEAD + ONCE + f"def build(x):\n    W = {NEW}\n    return tf.nn.embedding_lookup(W, x)\ne = build(ids)\n" + STEP,
        'name="w"',
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "name"), TOLD.values(), ids=TOLD)
def test_the_name_of_a_table_is_told_from_what_surely_runs(text: str, name: str) -> None:
    assert f"{name}, " in converted(text).converted, reasons(converted(text))


PADDED = {
    "another name": MADE + "W0 = W\n" + PAD + LOOKUP + "f = tf.nn.embedding_lookup(W0, ids)\n",
    "an attribute": "class M(object):\n    def __init__(self):\n        self.W = " + GET + "\n"
    "    def build(self, x):\n        W = self.W\n        " + PAD
    + "        return tf.nn.embedding_lookup(W, x) + tf.nn.embedding_lookup(self.W, x)\ne = M().build(ids)\n",
}  # fmt: skip


@pytest.mark.parametrize("code", PADDED.values(), ids=PADDED)
def test_a_table_is_padded_under_the_name_that_is(code: str) -> None:
    result = converted(HEAD + code + "loss = tf.reduce_sum(e)\n" + STEP)
    assert result.changed, reasons(result)
    assert result.converted.count("sparse_lookup(") == 1
    assert result.converted.count("padded_lookup(") == 1


ROWS = MADE + "e = tf.gather(W, [1, 2])\n"
REBOUND = {
    "two functions below": (
        "def main():\n W = tf.get_variable('w', [9, 4])\n e = tf.gather(W, [1, 2])\n def f():\n  def g():\n"
        "   nonlocal W\n   W = tf.ones([5, 4])\n  g()\n f()\n return e, tf.shape(W)[0]\ne, n = main()\n",
        "bound more than once"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), REBOUND.values(), ids=REBOUND)
def test_a_name_or_a_copy_that_may_be_something_else_stays(code: str, said: str) -> None:
    stays(HEAD + code + "loss = tf.reduce_sum(e)\n" + STEP, said, assume=True)
