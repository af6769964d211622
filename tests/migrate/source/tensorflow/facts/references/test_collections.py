"""Tables that are kept in dicts and lists, returned in them, cached, or made where a caller gives none."""

from __future__ import annotations

import ast

import pytest

from tests.support.source.collections_of_tables import DICT, MADE, START, SUM, A, B
from tests.support.source.converting import STEP, converted, moves, stays

pytest.importorskip("tensorflow")

TWO = "e = tf.nn.embedding_lookup({0}, [1, 2, 1]) + 2.0 * tf.nn.embedding_lookup({1}, [3, 8, 3])\n"
METHOD = "    def look(self, n):\n        return tf.nn.embedding_lookup(self.tables[n], ids[n])\n"
#: Name -> code that makes tables and looks `e` up, and how many creations there are.
MOVES = {
    "items": (DICT + "e = 0.0\nfor n, w in W.items():\n    e += tf.nn.embedding_lookup(w, ids[n])\n", 1),
    "sorted items": (DICT + "e = sum(tf.gather(w, ids[n]) for n, w in sorted(W.items()))\n", 1),
    "pairs that are sorted": (
        f'e = 0.0\nfor n, w in sorted([("b", {B}), ("a", {A})]):\n    e += tf.gather(w, ids[n])\n', 2),
    "cache": (f"W = {{}}\ndef table(n):\n    if n not in W:\n        W[n] = {MADE}\n    return W[n]\n"
              'e = tf.gather(table("a"), [1, 1]) + tf.gather(table("b"), [0, 6]) * tf.gather(table("a"), [2, 1])\n', 1),
    "literal dict, read by a loop": (f'W = {{"a": {A}, "b": {B}}}\n' + SUM.replace("ids[n]", "[1, 2, 1]"), 2),
    "beside a dense one": (f'W = {{"a": {A}, "b": scale}}\n' + TWO.format('W["a"]', 'W["a"]') + 'e *= W["b"]\n', 1),
    "attribute": (
        f"class Model:\n    def __init__(self):\n        self.tables = {{n: {MADE} for n in names}}\n" + METHOD
        + 'model = Model()\ne = model.look("a") + model.look("b")\n', 1),
    "made where none is given": (
        f"def rows(i, table=None):\n    if table is None:\n        table = {A}\n    return tf.gather(table, i)\n"
        f"b = {B}\ne = rows([1, 2]) * rows([3, 3], b)\n", 2),
    "variables of a loop": ("W = {n: tf.Variable(tf.zeros([9, 4]), name=n) for n in names}\n" + SUM, 1),
    "chosen members": (
        DICT + 'big = len(names) > 1\ne = tf.gather(W["b"] if big else W["a"], [0, 6, 6])\n', 1),
    "popped": (DICT + SUM + 'e += tf.reduce_sum(tf.gather(W.pop("a"), [1]))\n', 1),
    "compared": (f"W = [{A}]\ne = tf.gather(W[0], [1])\nprint(scale in W)\n", 1),
    "beside another member": (DICT + 'W["x"] = tf.ones([9, 4])\n' + SUM, 1),
    "gather by places": (
        f'W = {A}\ne = tf.gather(W, [1, 2, 1], None, "g", 0) * tf.gather(W, [1, 1, 3], batch_dims=0)\n', 1),
}  # fmt: skip


@pytest.mark.parametrize(("code", "tables"), MOVES.values(), ids=MOVES)
def test_tables_in_collections_move(code: str, tables: int) -> None:
    new = moves(START + code + STEP, tables)
    ast.parse(new)


ONES = "tf.ones([9, 4])"
#: A use in a branch of the graph, which no assumption lifts.
HELD = "tf.cond(scale[0, 0] > 0.0, lambda: tf.matmul(e, {}, transpose_b=True), lambda: e)"
GET = 'e = tf.gather(W["a"], [1, 2])\n'
LOOPED = "for w in W{0}:\n    e = tf.gather(w, [1, 2])\n"
CLASS = f"class Model:\n    def __init__(self):\n        self.t = {{n: {MADE} for n in names}}\n" + (
    '        self.e = tf.gather(self.t["a"], [1, 2])\nmodel = Model()\n'
)
DEFAULT = f"def rows(i, table{{0}}):\n    if {{1}}:\n        table = {A}\n    return tf.gather(table, i)\n"
#: Name -> code whose tables stay, and what is said about it.
STAYS = {
    "another member": (DICT + f'W[key] = {ONES}\n' + SUM, "`tf.ones([9, 4])` may also be read there"),
    "another member by setdefault": (DICT + f"W.setdefault(key, {ONES})\n" + SUM, "may also be read there"),
    "another member that is appended": (f"W = [{A}]\nW.append({ONES})\n" + LOOPED.format(""), "may also be read there"),
    "another member under a text that may be the key": (
        f'W = {{}}\nW["emb"] = {A}\nW[f"em{{key}}"] = {ONES}\ne = tf.gather(W["emb"], [1])\n',
        "may also be read there"),
    "a member that may be none": (
        f"W = {{n: {MADE} if n in big else {ONES} for n in names}}\n" + SUM, "may also be read there"),
    "a default": (DICT + f'e = tf.gather(W.get("a", {ONES}), [1])\n', "may also be read there"),
    "members that are exchanged": (
        DICT + SUM + "for n in W:\n    W[n] = tf.nn.l2_normalize(W[n], 1)\n", "l2_normalize"),
    "another dict under the name": (DICT + SUM + "W = load()\n", "it may come from `load()`"),
    "another dict from a branch": (
        f'def make():\n    if big:\n        return load()\n    return {{"a": {A}}}\nW = make()\n' + GET, "load()"),
    "merged": (f"W = {{**more, **{{n: {MADE} for n in names}}}}\n" + SUM, "it may come from `more`"),
    "updated": (DICT + SUM + "W.update(more)\n", "it may come from `more`"),
    "extended": (f"W = [{A}]\nW += more\ne = tf.gather(W[0], [1])\n", "it may come from `more`"),
    "printed and fetched": (DICT + SUM + "print(tf.Session().run(W))\n", "as a whole: `print("),
    "saved": (DICT + SUM + "saver = tf.train.Saver(W)\n", "as a whole: `saver = tf.train.Saver(W)`"),
    "the other of two names": (
        f"W = V = {{}}\nfor n in names:\n    W[n] = {MADE}\n" + SUM + "tf.Session().run(V)\n", "`tf.Session().run(V)`"),
    "given as arguments": (
        f"args = ({A}, [1, 2])\ne = tf.nn.embedding_lookup(*args)\n", "embedding_lookup(*args)`"),
    "all members in products": (
        DICT + SUM + f"for w in W.values():\n    y = {HELD.format('w')}\n", "needs the whole"),
    "ranks that differ": (f"W = [{A}, {A.replace(', 4]', ']')}]\n" + LOOPED.format(""), "their shapes differ"),
    "an attribute that is set outside": (CLASS + f'model.t["a"] = {ONES}\n', "may also be read there"),
    "a name of the module that is got by a text": (
        DICT + SUM + 'import sys\nV = getattr(sys.modules[__name__], "W")\ntf.Session().run(V)\n', "by its name"),
    "one of all names of the module": (f'T = {A}\ne = tf.gather(T, [1])\nuse(globals()["T"])\n', "by its name"),
    "a matrix where a table may be given": (
        DEFAULT.format("=None", "table is None") + f"e = rows([1]) + rows([2], {ONES})\n", "may also be read there"),
    "a table or what callers give": (DEFAULT.format("", "big") + f"e = rows([1], {ONES})\n", "may also be read there"),
    "a table or what unseen callers give": (DEFAULT.format("", "big") + "e = call(rows)\n", "`table` is a parameter"),
    "a decorator that is not known": (
        f"@deco\ndef make():\n    return {A}\ne = tf.nn.embedding_lookup(make(), [1])\n", "what the caller does"),
    "another axis, by its place": (f'W = {A}\ne = tf.gather(W, [1], None, "g", 1)\n', "only a gather along axis 0"),
    "a name or an axis": (f"W = {A}\ne = tf.gather(W, [1], None, g)\n", "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
@pytest.mark.parametrize("assume", [False, True])
def test_tables_in_collections_stay(code: str, said: str, assume: bool) -> None:
    stays(START + code + STEP, said, assume=assume)


def test_l2_over_the_tables_of_a_dict_covers_all_their_rows() -> None:
    result = converted(START + DICT + SUM + "loss = sum(tf.nn.l2_loss(w) for w in W.values())\n")
    assert "(l2_loss(w) for w in W.values())" in result.converted
