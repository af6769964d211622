"""Tables in dicts and lists that are made of other ones: what is read of a copy may be any member of both."""

from __future__ import annotations

import pytest

from tests.support.source.collections_of_tables import DICT, LIST, MADE, START, SUM, A, B
from tests.support.source.converting import STEP, moves, stays

pytest.importorskip("tensorflow")

ONES = "tf.ones([9, 4])"
V, T = DICT.replace("W =", "V ="), LIST.replace("W =", "T =")
FIRST = "e = tf.gather({0}[0], [1, 2])\n"
NO_TABLE = "is not known to be a variable"  # nothing looks up what is one
RUN = "tf.Session().run({0})\n"
CLASS = (
    f"class Model:\n    def __init__(self):\n        self.t = {{n: {MADE} for n in names}}\n"
    "        self.all = list(self.t.values())\n"
    "    def rows(self, n):\n        return tf.gather(self.t[n], [1]) + tf.gather(self.all[0], [2])\n"
    'm = Model()\ne = m.rows("a")\n'
)
LAZY = (
    "class Model:\n    def table(self):\n        if not hasattr(self, '_t'):\n"
    f"            self._t = {A}\n        return self._t\ne = tf.gather(Model().table(), [1])\n"
)
BOTH = 'e = tf.gather(W["a"], [1]) + tf.gather(W["b"], [2])\n'
#: Name -> code that copies tables and looks `e` up, and how many creations there are.
MOVES = {
    "dict": (V + "W = dict(V)\n" + SUM, 1),
    "copy": (V + "W = V.copy()\n" + SUM, 1),
    "a method that copies": (V + "def get():\n    return dict(V)\nW = get()\n" + SUM, 1),
    "stars and an entry": (f'V = {{"a": {A}}}\nW = {{**V, "b": {B}}}\n' + BOTH, 2),
    "keywords": (f'V = {{"a": {A}}}\nW = dict(V, b={B})\n' + BOTH, 2),
    "union": (f'V, U = {{"a": {A}}}, {{"b": {B}}}\nW = V | U\n' + BOTH, 2),
    "pairs of names and tables": (T + "W = dict(zip(names, T))\n" + SUM, 1),
    "updated by pairs": (T + "W = {}\nW.update(zip(names, T))\n" + SUM, 1),
    "updated": (V + "W = {}\nW.update(V)\n" + SUM, 1),
    "a list of values": (V + "L = list(V.values())\n" + FIRST.format("L"), 1),
    "two lists": (f"T = [{A}] + [{B}]\n" + FIRST.format("T"), 2),
    "extended": (f"T = []\nT.extend([{A}])\nT += [{B}]\n" + FIRST.format("T"), 2),
    "a slice": (f"T = [{A}, {B}]\nU = T[1:]\n" + FIRST.format("U"), 1),
    "a slice without another member": (f"T = [{A}, {ONES}]\nU = T[:1]\n" + FIRST.format("U"), 1),
    "dicts in a copy": (f'N = {{"u": {{"e": {A}}}}}\nM = dict(N)\ne = tf.gather(M["u"]["e"], [1])\n', 1),
    "an attribute": (CLASS, 1),
    "made when it is not there": (LAZY, 1),
}


@pytest.mark.parametrize(("code", "tables"), MOVES.values(), ids=MOVES)
def test_copies_are_followed(code: str, tables: int) -> None:
    moves(START + code + STEP, tables)


#: Name -> code of which no table moves, and what is said about it.
STAYS = {
    "another in the copy": (V + f'W = dict(V)\nW[key] = {ONES}\n' + SUM, "may also be read there"),
    "another in the source, later": (V + f'W = dict(V)\nV[key] = {ONES}\n' + SUM, "may also be read there"),
    "the copy is fetched": (V + "W = dict(V)\n" + RUN.format("W") + SUM, "as a whole: `tf.Session().run(W)`"),
    "a list that is summed": (T + "L = list(T)\ny = tf.add_n(L)\n" + FIRST.format("T"), "as a whole: `y = tf.add_n"),
    "a place that a slice moves": (f"T = [{A}, {ONES}]\nU = T[1:]\n" + FIRST.format("U"), "is not known"),
    "a place behind stars": (f"T = [{A}]\nU = [*T, {ONES}]\n" + FIRST.format("U"), "may also be read there"),
    "a place of a sum": (f"T = [{A}]\nU = T + [{ONES}]\n" + FIRST.format("U"), "may also be read there"),
    "values that are not followed": (V + "W = dict(V)\nW.update(load())\n" + SUM, "it may come from `load()`"),
    "members that are not followed": (T + "T.extend(load())\n" + FIRST.format("T"), "it may come from `load()`"),
    "another dict": (f"def dict(x):\n    return {{n: {ONES} for n in x}}\n" + V + "W = dict(V)\n" + SUM, NO_TABLE),
    "another list": (
        f"def list(x):\n    return [{ONES}]\n" + V + "L = list(V.values())\n" + FIRST.format("L"), NO_TABLE),
    "another zip": (
        "def zip(a, b):\n    return load(a)\n" + T + "W = dict(zip(names, T))\n" + SUM, NO_TABLE),
    "a tuple, of which TensorFlow makes one tensor": (
        f'W = {{"a": {A}}}\ne = tf.nn.embedding_lookup(tuple(W.values()), [1])\n', "as a whole: `e = tf.nn.emb"),
    "got by its name": (LAZY + "y = tf.norm(getattr(m, '_t'))\n", "by its name"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
def test_these_copies_stay(code: str, said: str) -> None:
    stays(START + code + STEP, said, assume=True)
