"""Forms in which tables are made once, kept, copied and handed on: properties, caches, pairs, dicts and lists."""

from __future__ import annotations

import pytest

from tests.support.source.collections_of_tables import DICT, LIST, MADE, START, SUM, A, B
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


V, T = DICT.replace("W =", "V ="), LIST.replace("W =", "T =")
FIRST = "e = tf.gather({0}[0], [1, 2])\n"
NO_TABLE = "is not known to be a variable"  # nothing looks up what is one
FETCHED = "tf.Session().run({0})\n"
CLASS = (
    f"class Model:\n    def __init__(self):\n        self.t = {{n: {MADE} for n in names}}\n"
    "        self.all = list(self.t.values())\n"
    "    def rows(self, n):\n        return tf.gather(self.t[n], [1]) + tf.gather(self.all[0], [2])\n"
    'm = Model()\ne = m.rows("a")\n'
)
HASATTR = (
    "class Model:\n    def table(self):\n        if not hasattr(self, '_t'):\n"
    f"            self._t = {A}\n        return self._t\ne = tf.gather(Model().table(), [1])\n"
)
BOTH = 'e = tf.gather(W["a"], [1]) + tf.gather(W["b"], [2])\n'
#: Name -> code that copies tables and looks `e` up, and how many creations there are.
COPIES = {
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
    "made when it is not there": (HASATTR, 1),
}


@pytest.mark.parametrize(("code", "tables"), COPIES.values(), ids=COPIES)
def test_copies_are_followed(code: str, tables: int) -> None:
    moves(START + code + STEP, tables)


#: Name -> code of which no table moves, and what is said about it.
COPIES_STAY = {
    "another in the copy": (V + f'W = dict(V)\nW[key] = {ONES}\n' + SUM, "may also be read there"),
    "another in the source, later": (V + f'W = dict(V)\nV[key] = {ONES}\n' + SUM, "may also be read there"),
    "the copy is fetched": (V + "W = dict(V)\n" + FETCHED.format("W") + SUM, "as a whole: `tf.Session().run(W)`"),
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
    "got by its name": (HASATTR + "y = tf.norm(getattr(m, '_t'))\n", "by its name"),
}  # fmt: skip


@pytest.mark.parametrize(("code", "said"), COPIES_STAY.values(), ids=COPIES_STAY)
def test_these_copies_stay(code: str, said: str) -> None:
    stays(START + code + STEP, said, assume=True)


PAIR = "e = tf.nn.embedding_lookup({0}, [1, 2, 1]) + 2.0 * tf.nn.embedding_lookup({1}, [3, 8, 3])\n"
METHOD = "    def look(self, n):\n        return tf.nn.embedding_lookup(self.tables[n], ids[n])\n"
#: Name -> code that makes tables and looks `e` up, and how many creations there are.
KEPT = {
    "items": (DICT + "e = 0.0\nfor n, w in W.items():\n    e += tf.nn.embedding_lookup(w, ids[n])\n", 1),
    "sorted items": (DICT + "e = sum(tf.gather(w, ids[n]) for n, w in sorted(W.items()))\n", 1),
    "pairs that are sorted": (
        f'e = 0.0\nfor n, w in sorted([("b", {B}), ("a", {A})]):\n    e += tf.gather(w, ids[n])\n', 2),
    "cache": (f"W = {{}}\ndef table(n):\n    if n not in W:\n        W[n] = {MADE}\n    return W[n]\n"
              'e = tf.gather(table("a"), [1, 1]) + tf.gather(table("b"), [0, 6]) * tf.gather(table("a"), [2, 1])\n', 1),
    "literal dict, read by a loop": (f'W = {{"a": {A}, "b": {B}}}\n' + SUM.replace("ids[n]", "[1, 2, 1]"), 2),
    "beside a dense one": (f'W = {{"a": {A}, "b": scale}}\n' + PAIR.format('W["a"]', 'W["a"]') + 'e *= W["b"]\n', 1),
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


@pytest.mark.parametrize(("code", "tables"), KEPT.values(), ids=KEPT)
def test_tables_in_collections_move(code: str, tables: int) -> None:
    moves(START + code + STEP, tables)


#: A use in a branch of the graph, which no assumption lifts.
HELD = "tf.cond(scale[0, 0] > 0.0, lambda: tf.matmul(e, {}, transpose_b=True), lambda: e)"
GET = 'e = tf.gather(W["a"], [1, 2])\n'
LOOPED = "for w in W{0}:\n    e = tf.gather(w, [1, 2])\n"
OWNER = f"class Model:\n    def __init__(self):\n        self.t = {{n: {MADE} for n in names}}\n" + (
    '        self.e = tf.gather(self.t["a"], [1, 2])\nmodel = Model()\n'
)
DEFAULT = f"def rows(i, table{{0}}):\n    if {{1}}:\n        table = {A}\n    return tf.gather(table, i)\n"
#: Name -> code whose tables stay, and what is said about it.
KEPT_STAY = {
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
    "an attribute that is set outside": (OWNER + f'model.t["a"] = {ONES}\n', "may also be read there"),
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


@pytest.mark.parametrize(("code", "said"), KEPT_STAY.values(), ids=KEPT_STAY)
@pytest.mark.parametrize("assume", [False, True])
def test_tables_in_collections_stay(code: str, said: str, assume: bool) -> None:
    stays(START + code + STEP, said, assume=assume)


def test_l2_over_the_tables_of_a_dict_covers_all_their_rows() -> None:
    result = converted(START + DICT + SUM + "loss = sum(tf.nn.l2_loss(w) for w in W.values())\n")
    assert "(l2_loss(w) for w in W.values())" in result.converted
