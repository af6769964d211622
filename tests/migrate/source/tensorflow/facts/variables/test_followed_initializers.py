"""Initializers that travel to their variable by names, containers, objects and calls: converted, run and compared."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.support.source.converting import converted
from tests.support.source.followed import HEAD, is_kept, model, trains_from_the_start_as_before, with_initializer
from tests.support.source.ways import Way, followed

pytest.importorskip("tensorflow")

FOLLOWED = followed("initializer")
OFTEN = random.Random(6).sample(FOLLOWED, 6)
CONSTANT = "tf.constant_initializer(0.25)"
OTHER = "tf.random_normal_initializer(stddev=0.1)"
MATRIX = "tf.constant_initializer([n / 32 for n in range(32)])"


@pytest.mark.parametrize(
    "way", [pytest.param(way, id=way.name, marks=[] if way in OFTEN else [pytest.mark.soak]) for way in FOLLOWED]
)
def test_an_initializer_that_travels_begins_as_before(way: Way, tmp_path: Path) -> None:
    trains_from_the_start_as_before(tmp_path / "p", {"main.py": with_initializer(way)})


#: Lines, and the initializer: each value that may arrive suits, and the one that does is the one that begins the rows.
SEVERAL = {
    "bound later": (f"a = {CONSTANT}\ndef f():\n    return a\nb = f()\na = {OTHER}", "b"),
    "by a flag": (f"a = {OTHER}\nif flag:\n    a = {CONSTANT}", "a"),
    "two callers": (f"def f(x):\n    return x\nf({OTHER})\na = f({CONSTANT})", "a"),
    "a function that does more": (f"seen = []\ndef f():\n    seen.append(1)\n    return {CONSTANT}", "f()"),
    "None until then": (f"a = None\nif a is None:\n    a = {CONSTANT}", "a"),
    "None before a return": (
        f"def f(x=None):\n    if x is not None:\n        return x\n    return {CONSTANT}\nf({OTHER})",
        "f()",
    ),
    "None left of or": (f"def f(x=None):\n    x = x or {CONSTANT}\n    return x", "f()"),
    "None in a choice": (f"def f(x=None):\n    return {CONSTANT} if x is None else x", "f()"),
    "taken off a list": (f"a = [{OTHER}, {CONSTANT}]", "a.pop()"),
    "a class in a dict": ('a = {"zeros": tf.ones_initializer}', 'a["zeros"]'),
    "a matrix, bound later": (f"def f():\n    return a\na = {CONSTANT}\nb = f\na = {MATRIX}", "b()"),
    "a matrix, by a flag": (f"a = {CONSTANT}\nif flag:\n    a = {MATRIX}", "a"),
    "two callers, one with a matrix": (f"def f(x):\n    return x\na = f({MATRIX})\nf({CONSTANT})", "a"),
    "a matrix, or None": (f"a = None\nif flag:\n    a = {MATRIX}", "a"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "read"), SEVERAL.values(), ids=SEVERAL)
def test_values_that_all_suit_are_told_apart_when_the_program_runs(lines: str, read: str, tmp_path: Path) -> None:
    trains_from_the_start_as_before(tmp_path / "p", {"main.py": model(lines, initializer=read)})


#: Lines, the initializer, and what is said.
KEPT = {
    "a dict that unknown code gets": (
        f'import other\na = {{"k": {CONSTANT}}}\nother.change(a)', 'a["k"]', "initial values"
    ),
    "an attribute that unknown code sets": (
        f"import other\nclass C:\n    pass\na = C()\na.k = {CONSTANT}\nother.change(a)", "a.k", "initial values"
    ),
    "a subclass": (
        "class Mine(tf.zeros_initializer):\n    def __call__(self, shape, dtype=None, partition_info=None):\n"
        "        return tf.ones(shape)\na = [Mine()]", "a[0]", "initial values"
    ),
    "an own function": (
        "def mine(shape, dtype=None, partition_info=None):\n    return tf.ones(shape)\na = [mine]", "a[0]",
        "initial values",
    ),
    "a function that ends without a value": (
        f"def f(x):\n    if x:\n        return {CONSTANT}\na = f(flag)", "a", "initial values"
    ),
    "a bare return": (
        f"def f(x):\n    if x:\n        return\n    return {CONSTANT}\na = f(flag)", "a", "initial values"),
    "patched": (f"tf.zeros_initializer = tf.orthogonal_initializer\na = [{CONSTANT}]", "a[0]", "changes the framework"),
    "by its name": (f'a = {CONSTANT}\nglobals()["a"] = {MATRIX}\nb = globals()["a"]', "b", "initial values"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "read", "says"), KEPT.values(), ids=KEPT)
def test_what_may_be_anything_else_keeps_the_table(lines: str, read: str, says: str, tmp_path: Path) -> None:
    assert says in is_kept(tmp_path / "p", model(lines, initializer=read))


def test_what_a_scope_gives_is_not_written_again_where_it_would_give_another_value(tmp_path: Path) -> None:
    scope = 'with tf.variable_scope("s", initializer={}):\n    W = tf.get_variable("w", [8, 4])\n'
    lookup = "e = tf.nn.embedding_lookup(W, ids)\n"
    for lines, given in ((f"a = [{CONSTANT}, {OTHER}]\n", "a.pop()"), (f"a = {{1: {CONSTANT}}}\n", "a.pop(1)")):
        assert not converted(HEAD + lines + scope.format(given) + lookup, assume=True).changed


VECTOR = "W = tf.get_variable('w', [9], initializer={})\ne = tf.nn.embedding_lookup(W, ids)\n"


def test_what_a_vector_writes_out_drops_no_call() -> None:
    maker = "def f(s):\n    print(1)\n    return tf.glorot_uniform_initializer({})\n"
    assert not converted(HEAD + maker.format("") + VECTOR.format("f(3)"), assume=True).changed
    assert converted(HEAD + maker.format("") + "a = f(3)\n" + VECTOR.format("a"), assume=True).changed
    assert converted(HEAD + maker.format("seed=7") + "a = f(3)\n" + VECTOR.format("a"), assume=True).changed
    assert not converted(HEAD + maker.format("seed=s") + "a = f(3)\n" + VECTOR.format("a"), assume=True).changed
