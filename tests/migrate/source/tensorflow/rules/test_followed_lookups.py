"""Lookup functions that travel to their call by names, containers, objects and calls: what they may be, or not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import HEAD, MADE, converted
from tests.support.source.followed import is_kept, model

pytest.importorskip("tensorflow")

LOOKUP = "tf.nn.embedding_lookup"


MINE = "def mine(t, i):\n    return tf.matmul(tf.one_hot(i, 8), t)\n"
#: Lines, what is called with the table and the ids, and what is said.
KEPT = {
    "bound later": (f"{MINE}def f():\n    return a\na = {LOOKUP}\nb = f\na = mine", "b()"),
    "by a flag": (f"{MINE}a = {LOOKUP}\nif flag:\n    a = mine", "a"),
    "one of two lookups": (f"a = {LOOKUP}\nif flag:\n    a = tf.gather", "a"),
    "an object that unknown code gets": (
        f"import other\nclass C:\n    pass\na = C()\na.k = {LOOKUP}\nother.change(a)", "a.k"
    ),
    "patched": (f"{MINE}tf.nn.embedding_lookup = mine\na = [{LOOKUP}]", "a[0]"),
    "shadowed in one branch": (
        "from tensorflow.compat.v1.nn import embedding_lookup\nif flag:\n"
        "    def embedding_lookup(t, i):\n        return tf.matmul(tf.one_hot(i, 8), t)\na = [embedding_lookup]", "a[0]"
    ),
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
