"""Lookup functions that travel to their call by names, containers, objects and calls: converted, run and compared."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.source.converting import HEAD, MADE, converted
from tests.support.source.followed import is_kept, model, trains_from_the_start_as_before, with_lookup
from tests.support.source.travels import TRAVELS, Travel

pytest.importorskip("tensorflow")

#: Ways that the analysis does not follow, or whose last expression does more than read: it would be dropped.
STAY = {
    "a match in a list", "pop", "a set", "a generator", "a deque", "an f-string", "values", "as a key",
    "as a key in a loop", "pop of a dict", "defaultdict", "its factory", "of a class, by an object",
    "in a class, by an object", "getattr", "two bases", "__call__", "__getattr__", "__new__", "global, set before",
    "partial", "partial by a keyword", "partial of a method", "what a generator is sent", "itemgetter", "attrgetter",
    "a class that is made", "a function's attribute", "globals", "exec",
}  # fmt: skip
FOLLOWED = [way for way in TRAVELS if way.name not in STAY]
OFTEN = {way.name for way in random.Random(7).sample(FOLLOWED, 6)}
LOOKUP = "tf.nn.embedding_lookup"


@pytest.mark.parametrize(
    "way",
    [pytest.param(way, id=way.name, marks=[] if way.name in OFTEN else [pytest.mark.soak]) for way in FOLLOWED],
)
def test_a_lookup_function_that_travels_reads_as_before(way: Travel, tmp_path: Path) -> None:
    text = trains_from_the_start_as_before(tmp_path / "p", {"main.py": with_lookup(way)})
    assert "rows = sparse_lookup(item, ids)" in text


@pytest.mark.parametrize("way", [pytest.param(way, id=way.name) for way in TRAVELS if way.name in STAY])
def test_a_lookup_function_that_is_not_followed_keeps_the_table(way: Travel, tmp_path: Path) -> None:
    is_kept(tmp_path / "p", with_lookup(way))


#: Lines, and what is called with the table and the ids.
CALLED = {
    "an attribute": ("class A:\n    def __init__(self):\n        self.look = tf.gather\na = A()", "a.look"),
    "bound later": (f"def f():\n    return a\na = {LOOKUP}\nb = f()\na = 1", "b"),
    "one function by two names": (f"a = {LOOKUP}\nif flag:\n    a = tf.compat.v1.nn.embedding_lookup", "a"),
    "None until then": (f"a = None\nif flag:\n    a = {LOOKUP}", "a"),
    "a method that returns it": (
        f"class C:\n    def get(self, kind):\n        if kind:\n            return self.k\n        return {LOOKUP}\n"
        "a = C()\na.k = tf.nn.embedding_lookup", "a.get(1)"
    ),
    "in brackets": (f'a = {{"k": {LOOKUP}}}', '(a\n        ["k"])'),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "read"), CALLED.values(), ids=CALLED)
def test_what_can_only_be_one_lookup_reads_as_before(lines: str, read: str, tmp_path: Path) -> None:
    trains_from_the_start_as_before(tmp_path / "p", {"main.py": model(lines, lookup=read)})


GIVEN = (
    "def read(f, t, i):\n    return f(t, i)\n" + f"HOW = {{'rows': {LOOKUP}}}\n"
)  # fmt: skip


@pytest.mark.parametrize("call", ["read(tf.nn.embedding_lookup, item, ids)", "read(HOW['rows'], item, ids)"])
@pytest.mark.parametrize("apart", [False, True], ids=["one file", "two files"])
def test_a_parameter_that_is_called_reads_as_before(call: str, apart: bool, tmp_path: Path) -> None:
    text = model("", lookup="read").replace("read(item, ids)", call)
    lines = "import tensorflow.compat.v1 as tf\n" + GIVEN
    files = {
        "main.py": (
            "from tools import HOW, read\n"
            if apart
            else GIVEN.replace("HOW = ", "import tensorflow.compat.v1 as tf\nHOW = ")
        )
        + text
    }
    results = {**files, **({"tools.py": lines} if apart else {})}
    trains_from_the_start_as_before(tmp_path / "p", results)


MINE = "def mine(t, i):\n    return tf.matmul(tf.one_hot(i, 8), t)\n"
#: Lines, what is called with the table and the ids, and what is said.
KEPT = {
    "bound later": (f"{MINE}def f():\n    return a\na = {LOOKUP}\nb = f\na = mine", "b()"),
    "by a flag": (f"{MINE}a = {LOOKUP}\nif flag:\n    a = mine", "a"),
    "one of two lookups": (f"a = {LOOKUP}\nif flag:\n    a = tf.gather", "a"),
    "a dict that unknown code gets": (f'import other\na = {{"k": {LOOKUP}}}\nother.change(a)', 'a["k"]'),
    "an object that unknown code gets": (
        f"import other\nclass C:\n    pass\na = C()\na.k = {LOOKUP}\nother.change(a)", "a.k"
    ),
    "patched": (f"{MINE}tf.nn.embedding_lookup = mine\na = [{LOOKUP}]", "a[0]"),
    "patched by its name": (f'{MINE}setattr(tf.nn, "embedding_lookup", mine)\na = [{LOOKUP}]', "a[0]"),
    "two callers": (
        f"{MINE}def f(g, t, i):\n    return g(t, i)\ndef h(t, i):\n    return f({LOOKUP}, t, i)\n"
        "def k(t, i):\n    return f(mine, t, i)", "h"
    ),
    "shadowed in one branch": (
        "from tensorflow.compat.v1.nn import embedding_lookup\nif flag:\n"
        "    def embedding_lookup(t, i):\n        return tf.matmul(tf.one_hot(i, 8), t)\na = [embedding_lookup]", "a[0]"
    ),
    "a decorated one": (f"import other\na = other.traced({LOOKUP})", "a"),
    "bound to the table": (f"a = functools.partial({LOOKUP}, max_norm=1.0)", "a"),
    "a function that counts": (f"n = []\ndef f():\n    n.append(1)\n    return {LOOKUP}", "f()"),
    "a property that counts": (
        f"class C:\n    n = 0\n    @property\n    def k(self):\n"
        f"        self.n += 1\n        return {LOOKUP}\na = C()",
        "a.k",
    ),
    "a dict that makes what it lacks": (f"a = collections.defaultdict(lambda: {LOOKUP})", 'a["k"]'),
    "bound where it is called": ("", f"(a := {LOOKUP})"),
    "with a comment": (f'a = {{"k": {LOOKUP}}}', '(a  # here\n        ["k"])'),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "read"), KEPT.values(), ids=KEPT)
def test_what_may_be_anything_else_keeps_the_table(lines: str, read: str, tmp_path: Path) -> None:
    is_kept(tmp_path / "p", model(lines, lookup=read))


#: What is done with the whole table beside a lookup by a function that travels.
WHOLE = ["tf.matmul(W, W, transpose_b=True)", "W * 2.0", "tf.reduce_sum(W)", "d['n'](W)", "run(W)"]


@pytest.mark.parametrize("use", WHOLE)
def test_a_lookup_by_a_function_that_travels_hides_no_other_use(use: str) -> None:
    text = f'{HEAD}{MADE}d = {{"k": tf.nn.embedding_lookup, "n": tf.nn.l2_normalize}}\n'
    text += f'e = d["k"](W, ids)\ny = {use}\n'
    assert "create_table" not in converted(text).converted


#: Lines with a lookup function, and those that are named in a finding of `tf-loose-lookup`.
NAMED = {
    "all calls are understood": ('d = {"k": tf.nn.embedding_lookup}\n' + MADE + 'e = d["k"](W, ids)\n', []),
    "one of the mentions is handed on": (
        'd = {"k": tf.nn.embedding_lookup}\n' + MADE + 'e = d["k"](W, ids)\nrun(tf.nn.embedding_lookup)\n', [5]
    ),
    "the dict is handed on": ('d = {"k": tf.nn.embedding_lookup}\n' + MADE + 'e = d["k"](x, ids)\nrun(d)\n', [2]),
    "another function": ('d = {"k": tf.nn.embedding_lookup}\n' + MADE + 'e = d["k"](W, ids)\nrun(tf.gather)\n', [5]),
    "nothing calls it": ('d = {"k": tf.nn.embedding_lookup}\n', [2]),
}  # fmt: skip


@pytest.mark.parametrize(("text", "lines"), NAMED.values(), ids=NAMED)
def test_what_is_not_understood_is_named(text: str, lines: list[int]) -> None:
    findings = converted(HEAD + text).findings
    assert [f.location.line for f in findings if f.rule == "tf-loose-lookup" and "not called" in f.message] == lines
