"""Optimizers and losses in odd places: made by base classes, in branches, for losses that no table takes part in."""

from __future__ import annotations

import pytest

from tests.support.source.converting import converted, reasons, stays
from tests.support.source.scripts import HEAD, MADE, compare

BODY = MADE + "loss = tf.reduce_sum(tf.square(tf.nn.embedding_lookup(W, ids) + b))\n"
RUN = (
    "\nwith tf.Session() as s:\n    s.run(tf.global_variables_initializer())\n    for _ in range(3):\n"
    "        show(s.run(loss))\n        s.run(train)\n"
)
ADAGRAD, ADAM = "tf.train.AdagradOptimizer(0.1)", "tf.train.AdamOptimizer(0.1)"
BASE = f"class Base:\n    def __init__(self, loss):\n        self.opt = {ADAGRAD}\n"
MODEL = (
    "class M:\n    def __init__(self, train, kind=1):\n"
    '        with tf.variable_scope("m", reuse=tf.AUTO_REUSE):\n'
    + "".join(f"            {line}\n" for line in BODY.splitlines())
    + "        self.loss = loss\n"
)
BRANCHES = (
    f"if kind == 1:\n    train = {ADAGRAD}.minimize(loss)\nelse:\n    train = {ADAM}.minimize(loss)\n",
    f"def step(kind):\n    if kind == 1:\n        return {ADAGRAD}.minimize(loss)\n    return {ADAM}.minimize(loss)\n",
)


def indented(code: str) -> str:
    """Return the lines inside of a method."""
    return "".join(f"        {line}\n" for line in code.splitlines())


#: One optimizer that trains the table, whatever the way to it.
ONE = {
    "made by a base class": BODY
    + BASE
    + "class A(Base):\n    def __init__(self, loss):\n        super().__init__(loss)\n"
    + "        self.step = self.opt.minimize(loss)\ntrain = A(loss).step\n",
    "used by a base class": BODY
    + BASE
    + "    def step(self):\n        return self.opt.minimize(self.loss)\n"
    + "class A(Base):\n    def __init__(self, loss):\n        super().__init__(loss)\n        self.loss = loss\n"
    + "train = A(loss).step()\n",
    "two branches": BODY + "kind = 1\n" + BRANCHES[0],
    "one list of pairs for two branches": BODY
    + f"kind = 1\no = {ADAGRAD}\npairs = o.compute_gradients(loss)\n"
    + "if kind == 1:\n    train = o.apply_gradients(pairs)\n"
    + "else:\n    train = o.apply_gradients(pairs, tf.train.get_or_create_global_step())\n",
    "pairs that are taken apart": BODY
    + f"o = {ADAGRAD}\npairs = o.compute_gradients(loss)\ngrads = [g for g, v in pairs]\n"
    + "train = o.apply_gradients(zip(grads, [v for g, v in pairs]))\n",
    "an early return": BODY + BRANCHES[1] + "train = step(1)\n",
    "a class for training and tests": MODEL
    + "        if train:\n"
    + f"            self.step = {ADAM}.minimize(loss)\nm, n = M(True), M(False)\nloss, train = m.loss, m.step\n",
    "a class that returns early": MODEL
    + "        if not train:\n            return\n"
    + indented(BRANCHES[0])
    + "        self.step = train\nm, n = M(True), M(False)\nloss, train = m.loss, m.step\n",
}
#: Several, each with slots of its own.
OWN_SLOTS = {
    "another one in a subclass": BODY
    + BASE
    + "        self.first = self.opt.minimize(loss)\n"
    + f"class A(Base):\n    def __init__(self, loss):\n        super().__init__(loss)\n        self.opt = {ADAM}\n"
    + "        self.second = self.opt.minimize(loss)\na = A(loss)\ntrain = tf.group(a.first, a.second)\n",
    "both branches": BODY + BRANCHES[1] + "train = tf.group(step(1), step(2))\n",
    "by turns": BODY + f"a, b = {ADAM}.minimize(loss), {ADAGRAD}.minimize(loss)\ntrain = tf.group(a, b)\n",
    "FTRL in another program": BODY
    + "import sys\nif len(sys.argv) > 99:\n    train = tf.train.FtrlOptimizer(0.1).minimize(loss)\n"
    + f"else:\n    train = tf.group({ADAM}.minimize(loss), {ADAGRAD}.minimize(loss))\n",
}


@pytest.mark.parametrize("code", (ONE | OWN_SLOTS).values(), ids=ONE | OWN_SLOTS)
def test_optimizers_train_the_table(code: str) -> None:
    losses = compare(HEAD + code + RUN)
    assert losses[0] > losses[1] > losses[2]


SEVERAL = {
    "a base class of two": BODY
    + BASE
    + "        self.step = self.opt.minimize(loss)\n"
    + "class A(Base):\n    def __init__(self, loss):\n        super().__init__(loss)\n"
    + "class C(Base):\n    def __init__(self, loss):\n        Base.__init__(self, 2 * loss)\n"
    + "train = tf.group(A(loss).step, C(loss).step)\n",
    "a class that trains twice": MODEL
    + f"        if train:\n            self.step = {ADAM}.minimize(loss)\n"
    + "m, n = M(True), M(True)\nloss, train = m.loss, tf.group(m.step, n.step)\n",
}


@pytest.mark.parametrize("code", SEVERAL.values(), ids=SEVERAL)
def test_optimizers_that_one_line_makes_do_not_share_a_table(code: str) -> None:
    text = HEAD + code + RUN
    for target in ("runtime", "sok"):
        result = converted(text, assume=True, target=target)
        assert result.converted == text
        assert "has room for those of four" in reasons(result)


FTRL = "tf.train.FtrlOptimizer(0.1)"
KEPT = {
    "FTRL beside another": (f"a, b = {ADAM}.minimize(loss), {FTRL}.minimize(loss)\n", "depends on their order"),
    "FTRL first": (f"a, b = {FTRL}.minimize(loss), {ADAM}.minimize(loss)\n", "depends on their order"),
    "five": ("".join(f"t{i} = {ADAM}.minimize(loss)\n" for i in range(5)), "has room for four optimizers with 8 slots"),
    "nine slots": (
        "".join(f"t{i} = tf.train.RMSPropOptimizer(0.1, centered=True).minimize(loss)\n" for i in range(3)),
        "optimizers with 8 slots",
    ),
    "a loop": (f"for rate in rates:\n    train = {ADAM}.minimize(loss)\n", "has room for those of four"),
}


@pytest.mark.parametrize(("code", "why"), KEPT.values(), ids=KEPT)
def test_optimizers_that_a_row_cannot_have_keep_it(code: str, why: str) -> None:
    text = HEAD + BODY + code
    stays(text, why, assume=True)


def test_a_term_over_the_table_beside_two_optimizers_is_no_exact_one() -> None:
    text = (
        HEAD
        + BODY.replace("b))", "b)) + 0.1 * tf.nn.l2_loss(W)")
        + f"a, b = {ADAM}.minimize(loss), {ADAGRAD}.minimize(loss)\n"
    )
    result = converted(text)
    assert "l2_loss(W)" in text and result.converted == text
    assert "a table can postpone the steps of one kind alone" in reasons(result)


def test_a_term_over_the_table_beside_an_optimizer_of_a_subclass_keeps_it() -> None:
    code = OWN_SLOTS["another one in a subclass"].replace("b))", "b)) + 0.1 * tf.nn.l2_loss(W)", 1)
    stays(HEAD + code + RUN, "with a term over all rows")


def test_another_target_has_one_optimizer_for_a_table() -> None:
    text = HEAD + BODY + f"a, b = {ADAM}.minimize(loss), {ADAM}.minimize(loss)\n"
    stays(text, "both would update it", target="sok")


UNSEEN = {
    "a bound method": f"minimize = {ADAGRAD}.minimize\ntrain = minimize(loss)\n",
    "a bound method beside a call": f"o = {ADAGRAD}\nm = o.minimize\ntrain = tf.group(o.minimize(loss), m(2 * loss))\n",
    "partial": f"import functools\no = {ADAGRAD}\ntrain = functools.partial(o.minimize, name='t')(loss)\n",
    "getattr": f"o = {ADAGRAD}\ntrain = getattr(o, 'minimize')(loss)\n",
    "map": f"train = tf.group(*map({ADAGRAD}.minimize, [loss]))\n",
    "another library": f"import trainer\ntrain = trainer.step({ADAGRAD}, loss)\n",
}


@pytest.mark.parametrize("code", UNSEEN.values(), ids=UNSEEN)
def test_an_optimizer_whose_steps_are_not_seen_keeps_the_tables(code: str) -> None:
    text = HEAD + BODY + code + RUN
    result = converted(text, assume=True)
    assert result.converted == text
    assert "used in an unsupported way" in reasons(result) or "passes the optimizer on" in reasons(result)


@pytest.mark.parametrize("first", ["None", ADAM])
def test_an_optimizer_that_another_function_makes_anew_keeps_the_tables(first: str) -> None:
    make = f"opt = {first}\ndef make():\n    global opt\n    opt = {ADAGRAD}\nmake()\ntrain = opt.minimize(loss)\n"
    stays(HEAD + BODY + make + RUN, "creates the optimizer of another function", assume=True)
