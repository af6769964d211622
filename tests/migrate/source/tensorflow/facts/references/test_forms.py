"""Forms in which tables are made once, kept and handed on: properties, caches, pairs, dicts of dicts."""

from __future__ import annotations

import pytest

from tests.support.source.collections_of_tables import DICT, MADE, START, SUM, A, B
from tests.support.source.converting import STEP, converted, moves, reasons, stays
from tests.support.source.scripts import TRAIN, compare

pytest.importorskip("tensorflow")

ONES = "tf.ones([9, 4])"
#: A graph that takes no more ops cannot read the table.
RUN = "tf.get_default_graph().finalize()\ntf.Session().run({0})\n"
FETCH = "e = sum(tf.nn.embedding_lookup({0}, ids[n]) for n in names)\n"
#: A class whose table is made when it is first read.
LAZY = (
    "class Model:\n    def __init__(self):\n        self._t = None\n    @property\n    def table(self):\n"
    f"        if self._t is None:\n            self._t = {A}\n        return self._t\n"
    "    def rows(self, i):\n        return tf.nn.embedding_lookup(self.table, i)\n"
    "m = Model()\ne = m.rows([1, 2]) + m.rows([1, 1])\n"
)
CACHE = "cache = {{}}\ndef table(n):\n{0}" + FETCH.format("table(n)")
TRY = CACHE.format(
    f"    try:\n        t = cache[n]\n    except KeyError:\n        t = cache[n] = {MADE}\n    return t\n"
)
EARLY = CACHE.format(f"    if n in cache:\n        return cache[n]\n    cache[n] = {MADE}\n    return cache[n]\n")
TWO = 'e = tf.nn.embedding_lookup(W["a"], [1, 2, 1]) + 2.0 * tf.nn.embedding_lookup(W["b"], [3, 8, 3])\n'
PAIRS = f"P, e = [], 0.0\nfor n in names:\n    P.append((n, {MADE}))\n"
EACH_PAIR = "for n, w in P:\n    e += tf.nn.embedding_lookup(w, ids[n])\n"
NESTED = f'W = {{"user": {{"emb": {A}, "size": 9}}, "item": {{"emb": {B}}}}}\n'
READ = 'e = tf.nn.embedding_lookup(W["user"]["emb"], [1, 2]) * tf.nn.embedding_lookup(W["item"]["emb"], [1, 1])\n'
OF_CLASS = (
    f'class Model:\n    W = {{"a": {A}}}\n    def rows(self):\n'
    '        return tf.nn.embedding_lookup(self.W["a"], [1, 2])\ne = Model().rows()\n'
)
BESIDE = (
    f"def make():\n    W = {{}}\n    for n in names:\n        W[n] = {MADE}\n    return W, 2.0\nW, two = make()\n" + SUM
)
ALIKE = (
    'def alike(n):\n    with tf.variable_scope("emb", reuse=tf.AUTO_REUSE):\n'
    '        return tf.get_variable("t_" + n + "_t", [9, 4], initializer=tf.ones_initializer())\n'
    + FETCH.format("alike(n)")
)
UNREAD = (
    f"def embed(i):\n    t = {A}\n    return tf.nn.embedding_lookup(t, i), t\n"
    "e, _ = embed([1, 2])\nfor _ in range(2):\n    e *= 2.0\n"
)
#: Variables with a number behind their names, and what makes several of them.
COMPUTED = '{0}:\n    W = tf.Variable(tf.ones([9, 4]), name="w_" + n)\n    tf.gather(W, [1])\n'
#: A table as a value of its class, and one that a method makes.
FIELD = (
    "class M{0}:\n    t: object = {1}\n    def rows(self, i):\n        return tf.gather(self.t, i)\ne = M().rows([1])\n"
)
MAKER = "class M{0}:\n    def rows(self, i):\n        return tf.gather(self.make(), i)\n{1}e = M().rows([1])\n"
MAKES = "    def make(self):\n        return {0}\n"
#: Name -> code that makes tables and looks `e` up, and how many creations there are.
MOVES = {
    "a property that makes it": (LAZY, 1),
    "an annotated dict": (f'W: dict = {{"a": {A}, "b": {B}}}\n' + TWO, 2),
    "a name that is declared first": (f"W: tf.Variable\nW = {A}\ne = tf.nn.embedding_lookup(W, [1])\n", 1),
    "a dict of pairs": (f"W = dict((n, {MADE}) for n in names)\n" + SUM, 1),
    "a method that an heir has too": (
        MAKER.format("", MAKES.format(A)) + "class N(M):\n" + MAKES.format(B) + "e += N().rows([1])\n", 2),
    "computed names of other texts": (
        COMPUTED.format("for n in ('a', 'b')") + 'e = tf.gather(tf.get_variable("w_z", [9, 4]), [1])\n', 2),
    "a value of a class": (FIELD.format("(object)", A), 1),
    "a dict beside something else": (BESIDE, 1),
    "try": (TRY, 1),
    "two returns": (EARLY, 1),
    "a dict of dicts": (NESTED + READ, 2),
    "a dict of the class": (OF_CLASS, 1),
    "bound where it is looked up": (f"e = tf.gather((W := {A}), [1]) + tf.gather(W, [2])\n", 1),
    "a default of the class": (
        f"class M:\n    t = 0\n    def __init__(self):\n        self.t = {A}\n        self.e = tf.gather(self.t, [1])\n"
        "e = M().e\n", 1),
    "a name that nothing reads": (UNREAD, 1),
    "shown": (DICT + SUM + 'import logging\nprint("%s" % W, f"{W}")\nlogging.info("tables %s", W)\n', 1),
    "one of each name": (ALIKE, 1),
}  # fmt: skip


@pytest.mark.parametrize(("code", "tables"), MOVES.values(), ids=MOVES)
def test_these_forms_move(code: str, tables: int) -> None:
    moves(START + code + STEP, tables)


def test_what_moves_is_written_in_place() -> None:
    text = converted(START + ALIKE + STEP).converted
    assert 'name=scoped_name("t_" + n + "_t")' in text


def test_forms_train_as_before() -> None:
    """One of each way: a property, a cache, pairs, a dict of dicts, variables of computed names."""
    codes = (LAZY, EARLY, PAIRS + EACH_PAIR, (NESTED + READ).replace("W", "N"), ALIKE)
    parts = [code.replace('"a", [', f'"a{i}", [').replace('"b", [', f'"b{i}", [') for i, code in enumerate(codes)]
    parts = [part.replace('"_emb"', f'"_emb{i}"') + "total += tf.reduce_sum(e)\n" for i, part in enumerate(parts)]
    compare(START + "total = 0.0\n" + "".join(parts) + "loss = tf.square(total * scale - 1.0)\n" + TRAIN, tables=6)


ELSE = f"    if big:\n        return {ONES}\n"
#: Name -> code of which no table moves, and what is said about it.
STAYS = {
    "a property that is used whole": (
        LAZY + "y = tf.cond(c, lambda: tf.matmul(e, m.table), lambda: e)\n", "needs the whole"),
    "a property that may give another value": (
        LAZY.replace("        return self._t\n", f"        return self._t if big else {ONES}\n"), "also"),
    "a property that is overridden": (
        LAZY.replace("m = Model()", f"class Sub(Model):\n    @property\n    def table(self):\n        return {ONES}\n"
                                    "m = Sub()"), "not known"),
    "a property that is also set": (
        LAZY.replace("    def rows", "    @table.setter\n    def table(self, v):\n        self._t = v\n    def rows"),
        "it may come from `v`"),
    "a declared name with another value": (
        f"W: tf.Variable = {A}\nW = {ONES}\ne = tf.nn.embedding_lookup(W, [1])\n", "is not known to be a variable"),
    "a dict of pairs, one another": (f'W = dict([("a", {A}), ("b", {ONES})])\n' + SUM, "may also be read there"),
    "updated by another": (DICT + SUM + f'W.update({{"a": {ONES}}})\n', "may also be read there"),
    "a pair of another": (PAIRS + f'P.append(("z", {ONES}))\n' + EACH_PAIR, "may also be read there"),
    "a cache that may give another": (TRY.replace("    return t\n", ELSE + "    return t\n"), "may also be read there"),
    "a dict of dicts with another": (
        NESTED + f'W[key] = {{"emb": {ONES}}}\n' + FETCH.format('W[key]["emb"]'), "may also be read there"),
    "a dict of dicts under another name": (
        NESTED + READ + f'for d in W.values():\n    d["emb"] = {ONES}\n', "may also be read there"),
    "a value of the class": (
        f"class M:\n    t = {ONES}\n    def __init__(self):\n        if big:\n            self.t = {A}\n"
        "        self.e = tf.gather(self.t, [1])\ne = M().e\n", "it is also `tf.ones([9, 4])`"),
    "a dict of the class that is set": (OF_CLASS + "Model.W = load()\n", "it may come from `load()`"),
    "a dict of the class that an heir has": (
        OF_CLASS + "class Sub(Model):\n    W = load()\ne += Sub().rows()\n", "it may come from `load()`"),
    "a name that is read": (UNREAD + RUN.format("_"), "needs the whole"),
    "shown and fetched": (DICT + SUM + 'print("%s" % tf.Session().run(W))\n', "as a whole: `print("),
    "a copy": (f"W = {A}\nV = tf.identity(W)\ne = tf.gather(V, [1])\n", "computed from the whole"),
    "a list of partitions": (
        f"P = [{A}, {B}]\ne = tf.nn.embedding_lookup(P, [1])\n", "as a whole: `e = tf.nn.embedding_lookup(P"),
    "chosen for training": (
        DICT + SUM + 'L = [v for v in tf.trainable_variables() if "emb" in v.name]\n'
        "y = tf.train.AdamOptimizer().minimize(e, var_list=L)\n", 'are chosen by `"emb" in v.name`'),
    "another of the same name": (
        ALIKE + 'with tf.variable_scope("emb", reuse=True):\n    y = tf.get_variable("t_a_t", [9, 4])\n',
        '`tf.get_variable("t_a_t", [9, 4])` may be the same variable'),
    "a field of a dataclass": ("@dataclasses.dataclass\n" + FIELD.format("", A), "make `t` of class `M` a field"),
    "a field of a base that is not seen": (FIELD.format("(typing.NamedTuple)", A), "make `t` of class `M` a field"),
    "a field of a class that is made anew": (FIELD.format("", A) + "N = dataclass(M)\n", "`dataclass` may make `t`"),
    "an attribute that is declared in a dataclass": (
        "@dataclass\n" + LAZY.replace("    def __init__", "    _t: object = None\n    def __init__"),
        "make `_t` of class"),
    "a method that is defined again": (
        MAKER.format("", MAKES.format(A) + MAKES.format(ONES)), "may also be read there"),
    "a method that is another one elsewhere": (
        MAKER.format("", "    if big:\n    " + MAKES.format(A).replace("\n ", "\n     ", 1) + MAKES.format(ONES)),
        "may also be read there"),
    "a dict by another function of that name": (
        f"def dict(p):\n    return {{k: {ONES} for k, _ in p}}\nW = dict((n, {MADE}) for n in names)\n" + SUM,
        "is not known to be a variable of the files read"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), STAYS.values(), ids=STAYS)
def test_these_forms_stay(code: str, said: str) -> None:
    stays(START + code + STEP, said, assume=True)


def test_each_entry_of_a_dict_of_dicts_is_judged_alone() -> None:
    result = converted(START + NESTED + READ + 'W["user"].update(more)\n' + STEP, assume=True)
    assert [table.verdict.value for table in result.tables] == ["unsupported", "applied"]
    assert "it may come from `more`" in reasons(result)
