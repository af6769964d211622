"""Objects of which a graph has one, as they make a variable of a fixed name: so it has one of their optimizers."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, converted, reasons

MODEL = """class Base(object):
    def __init__(self, n):
        self.i = tf.placeholder(tf.int64, [None])
        with tf.name_scope("emb"):
            self.w = tf.get_variable("w", [n, 4])
        self.e = tf.nn.embedding_lookup(self.w, self.i)
    def net(self, x):
        self.op = tf.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(tf.layers.dense(x, 1)))
class A(Base):
    def __init__(self, n):
        super(A, self).__init__(n)
        self.net(self.e)
class B(Base):
    def __init__(self, n):
        super(B, self).__init__(n)
        self.net(self.e * 2.0)
"""
OWN = """class C(Base):
    def __init__(self, n):
        super(C, self).__init__(n)
        self.own = tf.train.AdagradOptimizer(0.2).minimize(tf.reduce_sum(tf.layers.dense(self.e, 1)))
"""
PICK = '    m = A(9) if kind == "a" else B(9)\n'
MAIN = f"def train(kind):\n{PICK}def test(kind):\n{PICK}"
RNN = """def unrolled(cell, xs, scope=None):
    with tf.variable_scope(scope or "rnn") as varscope:
        for time, x in enumerate(xs):
            if time > 0:
                varscope.reuse_variables()
            cell(x)
"""
#: A class with a constructor of its own, which calls that of a library: no object of it is a model.
CELL = """from tensorflow.python.ops.rnn_cell_impl import RNNCell
class Cell(RNNCell):
    def __init__(self, size, reuse=None):
        super(Cell, self).__init__(_reuse=reuse)
class D(Base):
    def __init__(self, n):
        super(D, self).__init__(n)
        with tf.variable_scope("rnn"):
            self.net(tf.nn.dynamic_rnn(Cell(4), self.e)[0])
"""
ABOVE, _, CLASSES = CELL.partition("\n")
STARRED = ABOVE.replace("import RNNCell", "import *") + "\n" + MODEL + CLASSES
MANY = "may run several times"
#: Name -> a program whose tables stay, and why.
STAYS = {
    "variables that are reused": (MODEL + MAIN + "tf.get_variable_scope().reuse_variables()\n", MANY),
    "reused in the scope of the model": (
        MODEL + MAIN + 'with tf.variable_scope("s") as s:\n    s.reuse_variables()\n    A(3)\n',
        MANY,
    ),
    "a scope that is opened elsewhere": (MODEL + MAIN + RNN.replace("varscope.re", "other.re"), MANY),
    "reused in a scope": (MODEL + MAIN + 'with tf.variable_scope("s", reuse=tf.AUTO_REUSE):\n    A(3)\n', MANY),
    "numbered": (MODEL.replace('tf.get_variable("w", [n, 4])', "tf.Variable(tf.zeros([n, 4]))") + MAIN, MANY),
    "under a condition": (MODEL.replace('with tf.name_scope("emb")', "if n") + MAIN, MANY),
    "called again": (MODEL + MAIN + "A(9).net(1.0)\n", MANY),
    "twice for an object": (MODEL.replace("self.net(self.e)\n", "self.net(self.e)\n        self.net(1.0)\n"), MANY),
    "in a loop": (
        MODEL.replace("        self.net(self.e)\n", "        for _ in n:\n            self.net(1.0)\n"),
        MANY,
    ),
    "a cell by a star of a module that is not given": (
        STARRED.replace("tensorflow.python.ops.rnn_cell_impl", "cells") + MAIN,
        MANY,
    ),
    "a cell of a class that is chosen": (MODEL + CELL.replace(ABOVE, "RNNCell = kinds[0]") + MAIN, MANY),
    "a cell that is a model": (STARRED.replace("Cell(RNNCell)", "Cell(RNNCell, Base)") + MAIN, MANY),
    "a cell beside a model": (STARRED + "class E(Cell, Base):\n    pass\n" + MAIN, MANY),
    "`super` of the program": (STARRED + "def super(*a):\n    return Base\n" + MAIN, ""),
}


#: Graphs in which two optimizers train a table, each by slots of its own.
SEVERAL = {
    "an heir of both": MODEL + OWN.replace("C(Base)", "C(B)") + MAIN,
    "a base that trains, too": MODEL.partition("class A")[0].replace(
        "    def net", "        self.net(self.e)\n    def net"
    )
    + OWN,
}


@pytest.mark.parametrize("code", SEVERAL.values(), ids=SEVERAL)
def test_a_graph_has_two_of_the_optimizers(code: str) -> None:
    result = converted(HEAD + code)
    assert [table.verdict.value for table in result.tables] == ["applied"], reasons(result)


ALONE = {"": MODEL, "own": MODEL + OWN, "rnn": MODEL + RNN, "cell": MODEL + CELL, "star": STARRED}


@pytest.mark.parametrize("code", ALONE.values(), ids=ALONE)
def test_each_graph_has_one_of_the_optimizers(code: str) -> None:
    result = converted(HEAD + code + MAIN)
    assert [table.verdict.value for table in result.tables] == ["applied"], reasons(result)


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
def test_a_graph_may_have_several(code: str, said: str) -> None:
    result = converted(HEAD + code, assume=True)
    assert not result.changed
    assert said in reasons(result)
