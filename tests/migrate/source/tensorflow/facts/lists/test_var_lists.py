"""Training steps of a `var_list` that names tables: each table goes to the optimizer of the step that names it."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import reasons, stays
from tests.support.source.projects import convert, verdicts, write
from tests.support.source.scripts import HEAD, compare

MADE = """ids = tf.constant([1, 2, 1], tf.int64)
W = tf.get_variable("w", [9, 4], initializer=tf.constant_initializer(0.5))
V = tf.get_variable("v", [9, 1], initializer=tf.constant_initializer(0.2))
b = tf.get_variable("b", [4], initializer=tf.constant_initializer(0.25))
c = tf.get_variable("c", [], initializer=tf.constant_initializer(0.3))
deep, wide = tf.nn.embedding_lookup(W, ids), tf.nn.embedding_lookup(V, ids)
loss = tf.reduce_sum(tf.square(tf.reduce_sum(deep * b, 1) + wide[:, 0] + c - 2.0))
"""
RUN = """
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(4):
        for one in (loss, deep, wide, b, c):
            show(s.run(one))
        s.run(train)
"""
ADAGRAD, SGD, ADAM = (f"tf.train.{name}Optimizer(0.1)" for name in ("Adagrad", "GradientDescent", "Adam"))
BOTH = f"train = {ADAGRAD}.minimize(loss, var_list={{}})\n"
#: Steps, with whether they train W and V.
STEPS = {
    "pairs that are clipped": (
        f"o = {ADAGRAD}\npairs = [(tf.clip_by_norm(g, 0.2), v) for g, v in o.compute_gradients(loss, [W, b])]\n"
        "train = o.apply_gradients(pairs)\n",
        (True, False),
    ),
    "gradients clipped together": (
        "P = [c, W, b]\ng, _ = tf.clip_by_global_norm(tf.gradients(loss, P), 0.2)\n"
        f"train = {ADAGRAD}.apply_gradients(zip(g, P))\n",
        (True, False),
    ),
    "one Adam for two lists": (
        f"o, P = {ADAM}, [V, c]\nfirst = o.minimize(loss, var_list=[b, W])\n"
        "with tf.control_dependencies([first]):\n    train = o.minimize(loss, var_list=P)\n",
        (True, True),
    ),
    "a list that is empty at first": (
        f"class M:\n    pass\nm = M()\nm.params = []\nm.params = [W, b]\ntrain = {ADAGRAD}.minimize(loss, "
        "var_list=m.params)\n",
        (True, False),
    ),
    "dense variables and tables apart": (
        f"o, P, Q = {ADAGRAD}, [], [c, b]\nP.append(V)\nfirst = o.minimize(loss, var_list=Q)\n"
        "with tf.control_dependencies([first]):\n    train = o.minimize(loss, var_list=P)\n",
        (False, True),
    ),
}


@pytest.mark.parametrize(("steps", "trained"), STEPS.values(), ids=STEPS)
def test_each_table_follows_the_step_that_names_it(steps: str, trained: tuple[bool, bool]) -> None:
    shown = compare(HEAD + MADE + steps + RUN, tables=2)
    moved = [bool((shown[place] != shown[place + 15]).all()) for place in (1, 2)]
    assert tuple(moved) == trained


def step_of(text: str, target: str = "runtime") -> str:
    """Return what became of the lines behind the model."""
    result = convert_text("model.py", HEAD + MADE + text, Options(target=target), {})
    assert result.changed, reasons(result)
    return result.converted.partition("loss = ")[2].partition("\n")[2]


APART = "dense_vars, sparse_vars = "
ALIVE = "s = tf.cond(flag, lambda: tf.matmul(W, W, transpose_b=True), lambda: b)\n"
WRITTEN = {
    "a list": (BOTH.format("[W, b, V]"), APART + "get_dense_and_sparse_variable([W, b, V])\n"),
    "a name": ("P = [W, b]\n" + BOTH.format("P"), APART + "get_dense_and_sparse_variable(P)\n"),
    "a parameter": (f"def f(P):\n    return {SGD}.minimize(loss, var_list=P)\nf((W, c))\n", "able(P)\n"),
    "a table that stays": (ALIVE + BOTH.format("[W, V]"), APART + "get_dense_and_sparse_variable([W, V])\n"),
    "a step of one that stays": (
        ALIVE + f"a = {ADAM}.minimize(loss, var_list=[W])\n" + BOTH.format("[V]"),
        f"a = {ADAM}.minimize(loss, var_list=[W])\n",
    ),
    "gradients of dense variables": (
        f"P = [b, c]\na = {ADAM}.apply_gradients(zip(tf.gradients(loss, P), P))\n" + BOTH.format("[W]"),
        f"a = {ADAM}.apply_gradients(zip(tf.gradients(loss, P), P))\n",
    ),
}


@pytest.mark.parametrize(("text", "part"), WRITTEN.values(), ids=WRITTEN)
def test_how_a_list_is_taken_apart(text: str, part: str) -> None:
    assert part in step_of(text)


def test_every_step_has_lists_of_its_own() -> None:
    pairs = "{0} = {1}\n{0}_pairs = {0}.compute_gradients(loss, {2})\n"
    text = pairs.format("x", ADAGRAD, "[W, b]") + pairs.format("y", SGD, "[V, c]")
    new = step_of(text + "train = [x.apply_gradients(x_pairs), y.apply_gradients(y_pairs)]\n")
    assert "for pair in x_pairs[: len(dense_vars)] if" in new
    assert "for pair in y_pairs[: len(dense_vars_2)] if" in new


TAKEN = "g = tf.gradients(loss, {})\n" + f"train = {ADAGRAD}.apply_gradients(zip(g, {{}}))\n"
ALONE = "one of them would not count these"
STAY = {
    "a part that is not seen": (BOTH.format("[W] + more()"), "the value of `[W] + more()` in its `var_list` cannot be"),
    "a list in the list": ("D = [b]\n" + BOTH.format("[W, D]"), "the value of `D` in its `var_list` cannot be"),
    "a table alone": (BOTH.format("W"), "the value of `W` in its `var_list` cannot be"),
    "a list that grows": ("P = [W]\nP += more\n" + BOTH.format("P"), "the value of `P` in its `var_list`"),
    "a sum": (BOTH.format("[W] + [b]"), "the value of `[W] + [b]` in its `var_list` cannot be"),
    "stars": (BOTH.format("[W, *[b]]"), "the value of `[W, *[b]]` in its `var_list` cannot be"),
    "the values of a dict": ('P = {"w": W}\n' + BOTH.format("list(P.values())"), "trains a list of variables"),
    "what a loop finds": (
        "P = [W]\nfor v in more():\n    P.append(v)\n" + BOTH.format("P"), "the value of `v` in its `var_list`"),
    "two lists of one parameter": (
        f"def f(P):\n    return {SGD}.minimize(loss, var_list=P)\nf([W])\nf([V, b])\n", "of `P` in its `var_list`"),
    "another list beside its gradients": (TAKEN.format("[W, b]", "[b, W]"), "order is not known"),
    "all variables beside its gradients": (TAKEN.format("[W, b]", "tf.trainable_variables()"), "order is not known"),
    "gradients that nobody applies": (f"g = tf.gradients(loss, [W])\na = {SGD}.minimize(loss)\n", "these gradients"),
    "a list that is also fetched": ("P = [W, b]\ns.run(P)\n" + BOTH.format("P"), "used as a whole: `s.run(P)`"),
    "a loop beside": (
        "P = [W, b]\n" + TAKEN.format("P", "P") + "for x, v in zip(g, P):\n    x.assign(v)\n", "is used in `for x, v"),
    "one table in two lists": (
        BOTH.format("[W, b]") + "a = tf.train.FtrlOptimizer(0.1).minimize(loss, var_list=[W, c])\n",
        "depends on their order"),
    "a table of all variables": (
        "a = tf.train.FtrlOptimizer(0.1).minimize(loss)\n" + BOTH.format("[W, b]"), "depends on their order"),
    "Adam without a dense half": (
        f"o = {ADAM}\na = o.minimize(loss, var_list=[W, b])\nt = o.minimize(loss, var_list=[V])\n", ALONE),
    "Adam whose table stays": (
        ALIVE + f"o = {ADAM}\na = o.minimize(loss, var_list=[W, b])\nt = o.minimize(loss, var_list=[V, c])\n", ALONE),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), STAY.values(), ids=STAY)
def test_what_keeps_the_tables_is_said(text: str, says: str) -> None:
    stays(HEAD + MADE + text, says, assume=True)


PARTS = (
    "class M:\n    def __init__(self):\n"
    '        self.T = tf.get_variable("t", [9, 4])\n        self.k = tf.get_variable("k", [4])\n'
    "        self.listed = [self.T, self.k]\n        self.e = tf.nn.embedding_lookup(self.T, [1]) * self.k\n"
)
TRAIN = (
    "import tensorflow.compat.v1 as tf\nfrom model import P, loss, M\n"
    f"first = {ADAGRAD}.minimize(loss, var_list=P)\nm = M()\nsecond = {ADAM}.minimize(m.e, var_list=m.listed)\n"
)


def test_lists_of_other_files_are_followed(tmp_path: Path) -> None:
    results = convert(write(tmp_path, {"model.py": HEAD + MADE + "P = [W, b]\n" + PARTS, "train.py": TRAIN}))
    assert verdicts(results) == {"w": "applied", "v": "applied", "t": "applied"}, reasons(results)
    before, found, after = results["train.py"].converted.partition(APART + "get_dense_and_sparse_variable(P)\n")
    assert found
    assert "from runtime import get_dense_and_sparse_variable\n" in before, (
        "the import stands in front of what needs it"
    )
    assert "= get_dense_and_sparse_variable(m.listed)\n" in after


FED = "tf.data.Dataset.from_tensor_slices([1, 2]).make_one_shot_iterator().get_next()"
LIST = BOTH.format("[W, b, V]")


def test_what_other_targets_make_of_a_list() -> None:
    assert "sparse_vars, dense_vars = sok.filter_variables([W, b, V])\n" in step_of(LIST, "sok")
    assert step_of(LIST, "deeprec") == LIST
    text = HEAD + MADE.replace("tf.constant([1, 2, 1], tf.int64)", FED) + LIST
    result = convert_text("model.py", text, Options(target="rec_sdk", assume=True), {})
    assert not result.changed
    assert "Rec SDK lists all tables of a graph together" in reasons(result)
