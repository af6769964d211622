"""The first reason that is given is the true one: what is not followed, and nothing that only comes of it."""

from __future__ import annotations

import pytest

from migrate.report.model import State
from tests.support.source.converting import HEAD, LOOKUP, MADE, converted

ADAGRAD, ADAM = "tf.train.AdagradOptimizer(0.1)", "tf.train.AdamOptimizer(0.1)"
STEP = "op = o.minimize(e)\n"
FOUND = "e = tf.nn.embedding_lookup(X, ids)\n"
CASES = {
    "a default of a lambda": (
        MADE + "f = lambda i, W=W: tf.nn.embedding_lookup(W, i)\n", "what callers pass for it is not known"),
    "the rest of a pattern": (
        MADE + f"match [1, W]:\n    case [_, *X]:\n        {FOUND}", "what it reaches is decided at run time"),
    "a pattern of the same name": (
        MADE + LOOKUP + "match kind:\n    case W:\n        pass\n", "a part of what is matched"),
    "a template": (
        'def f(i):\n    W = tf.get_variable("w", [9, 4])\n    return tf.nn.embedding_lookup(W, i)\n'
        'e = tf.make_template("t", f)(ids)\n',
        "each call of the function that `tf.make_template` returns reuses the variables of the first"),
    "a list and its member": (
        MADE + "P = [W]\ndef f(t):\n    return tf.nn.embedding_lookup(t, ids)\ne = f(P) + f(P[0])\n",
        "what this does with the table is not analysed"),
    "an optimizer that is wrapped": (
        MADE + LOOKUP + f"o = {ADAGRAD}\no = wrap(o)\n{STEP}", "it is not an optimizer of TensorFlow that a statement"),
}  # fmt: skip


@pytest.mark.parametrize(("text", "says"), CASES.values(), ids=CASES)
def test_the_first_finding_is_about_what_keeps_the_table(text: str, says: str) -> None:
    result = converted(HEAD + text, assume=True)
    assert not result.changed
    told = [f for f in result.findings if f.state not in {State.NOTED, State.SUGGESTED}]
    assert says in told[0].reason, [(f.message, f.reason) for f in told]
    assert len({f.location.line for f in told}) == (2 if "template" in text or "*X" in text else 1), (
        "a reason that only comes of it"
    )


ROWS = "u_emb = tf.nn.embedding_lookup(W, ids)\n"
WHOLE = "u_emb = tf.nn.relu(W)\n"
HANDED = "def rows(t):\n    t = tf.nn.embedding_lookup(t, ids)\n    return t\n"
LAST = "e = tf.gather(u_emb, [0])\n"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (ROWS + "u_emb = tf.concat([u_emb, u_emb], 1)\n" + LAST, ""),
        (ROWS + "for _ in range(2):\n    u_emb = tf.gather(u_emb, [0])\n" + LAST, ""),
        (WHOLE + LAST, "`u_emb` is computed from the whole variable `W`"),
        (ROWS + "if deep:\n    " + WHOLE + LAST, "`u_emb` may be computed from the whole variable `W`"),
        ("W = tf.nn.embedding_lookup(W, ids)\ne = tf.gather(W, [0])\n", ""),
        (HANDED + "loss = tf.reduce_sum(rows(W))\n", ""),
        (HANDED + "x = rows(W)\nloss = tf.reduce_sum(x) + x[0]\n", ""),
        (
            HANDED + "e = tf.layers.dense(rows(W), 3)\nlogits = tf.matmul(W, W)\n",
            "tf.matmul(W, W)` computes with all rows of `W`",
        ),
        (
            HANDED.replace("    t", "    p = tf.matmul(t, t)\n    t", 1) + "e = rows(W)\n",
            "`tf.matmul(t, t)` computes with all rows of `t`",
        ),
        ("W = tf.gather(W, ids)\nW = tf.nn.relu(W)\ne = tf.gather(W, [0])\n", ""),
    ],
)
def test_the_rows_of_a_lookup_are_not_called_the_whole_variable(text: str, says: str) -> None:
    told = [f"{f.message}: {f.reason}" for f in converted(HEAD + MADE + text).findings]
    assert any(says in one for one in told)
    assert ("the whole" in says or "may be" in says) or not any("the whole" in one for one in told)
