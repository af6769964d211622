"""Every line that names a lookup function has a finding, and no table behind one moves unseen."""

from __future__ import annotations

import re

import pytest

from migrate.report.model import State
from tests.support.source.converting import HEAD, LOOKUP, MADE, converted, reasons

HANDED = {
    "bound": "from functools import partial\n" + MADE + "look = partial(tf.nn.embedding_lookup, W)\ne = look(ids)\n",
    "mapped": MADE + "e = list(map(tf.nn.embedding_lookup, [W], [ids]))\n",
    "under another name": MADE + "lookup = tf.nn.embedding_lookup\ne = run(lookup, W, ids)\n",
    "imported by another name": "from tensorflow.nn import embedding_lookup as look\n"
    + MADE + "e = run(look, W, ids)\n",
    "a default": MADE + "def f(ids, look=tf.nn.embedding_lookup):\n    return look(W, ids)\n",
    "one of a dict": MADE + 'HOW = {"a": tf.nn.embedding_lookup, "b": other}\ne = HOW[kind](W, ids)\n',
    "one of a list": MADE + "HOW = [tf.nn.embedding_lookup, tf.gather]\ne = HOW[i](W, ids)\n",
    "one of two": MADE + "e = (tf.nn.embedding_lookup if a else other)(W, ids)\n",
    "bound twice": MADE + "look = tf.nn.embedding_lookup\nif a:\n    look = tf.gather\ne = look(W, ids)\n",
    "of a class": "class A:\n    look = staticmethod(tf.nn.embedding_lookup)\n    def f(self):\n        " + MADE
    + "        return self.look(W, ids)\n",
}  # fmt: skip


@pytest.mark.parametrize("also", ["", LOOKUP], ids=["alone", "with a lookup"])
@pytest.mark.parametrize("text", HANDED.values(), ids=HANDED)
def test_a_function_that_is_not_called_is_named_and_keeps_its_table(text: str, also: str) -> None:
    text = HEAD + text + (also if "class" not in text else "")
    result = converted(text, assume=True)
    assert not result.changed
    found = {f.location.line for f in result.findings}
    named = [n for n, line in enumerate(text.splitlines(), 1) if re.search(r"\.(embedding_lookup|gather)|W, ids", line)]
    assert found >= set(named), (named, reasons(result))
    assert [t.verdict for t in result.tables] == [State.UNSUPPORTED], reasons(result)
    assert "decided at run time" in reasons(result)


SAID = {
    "another name": ("lookup = tf.nn.embedding_lookup\n", State.NOTED, "no code of the given files calls it"),
    "its documentation": ("@functools.wraps(tf.gather)\ndef f(i):\n    pass\n", State.OPAQUE, "passed on, not called"),
    "replaced": ("tf.nn.embedding_lookup = mine\n", State.OPAQUE, "passed on, not called"),
    "returned": ("def f(): return tf.nn.embedding_lookup\n", State.OPAQUE, "passed on, not called"),
    "by a text": ('e = getattr(tf.nn, "embedding_lookup")(x, ids)\n', State.OPAQUE, "getattr"),
    "a tensor": ("e = tf.gather(x, ids)\n", State.NOTED, "not known to be a variable"),
    "a weight": ("e = tf.gather(layer.add_weight('w', [9, 4]), ids)\n", State.NOTED, "a weight that a layer creates"),
    "an older one": ("e = tf.contrib.layers.embedding_lookup_unique(x, ids)\n", State.NOTED, "not known"),
    "one of the file": ("e = varlen_embedding_lookup(x, ids)\n", State.NOTED, "is not TensorFlow's"),
}


@pytest.mark.parametrize(("text", "state", "says"), SAID.values(), ids=SAID)
def test_what_is_no_lookup_of_a_table_is_said(text: str, state: State, says: str) -> None:
    result = converted(HEAD + text)
    [finding] = result.findings
    assert (finding.state, finding.location.line) == (state, 2)
    assert says in reasons(result)


def test_a_second_name_converts_as_before() -> None:
    result = converted(HEAD + "look = tf.nn.embedding_lookup\n" + MADE + "e = look(W, ids)\n")
    assert "e = sparse_lookup(W, ids)\n" in result.converted


HELD = {
    "code that is not read": MADE + "e = tf.nn.embedding_lookup(wrapped(W), ids)\n",
    "a parameter": MADE + "def f(t, i):\n    return tf.gather(t, i)\nrun(f, wrapped(W))\n",
}


@pytest.mark.parametrize("text", HELD.values(), ids=HELD)
def test_a_lookup_in_what_may_hold_a_variable_is_opaque(text: str) -> None:
    result = converted(HEAD + text)
    assert not result.changed
    [opaque] = [f for f in result.findings if f.state is State.OPAQUE]
    line = next(
        n for n, one in enumerate((HEAD + text).splitlines(), 1) if "embedding_lookup" in one or "gather" in one
    )
    assert opaque.location.line == line
    assert "passed on in a way that is not followed" in opaque.reason


DEFAULTS = {
    "of a lambda": MADE + "f = lambda i, t=W: tf.nn.embedding_lookup(t, i)\n",
    "of a function that is handed on": MADE + "def f(i, t=W):\n    return tf.nn.embedding_lookup(t, i)\nrun(f)\n",
}


@pytest.mark.parametrize("text", DEFAULTS.values(), ids=DEFAULTS)
def test_a_default_that_callers_may_replace_is_no_table_for_certain(text: str) -> None:
    result = converted(HEAD + text)
    assert not result.changed
    assert any("`t` is a parameter" in f.message for f in result.findings), reasons(result)


COMPUTED = {
    "a product": "y = x @ m\n",
    "one of two": "y = tf.abs(x) if a else x * 2\n",
    "numpy's": "import numpy as np\ny = np.ones([9, 4])\n",
    "what a function is given": "def f(y, ids):\n    return tf.nn.embedding_lookup(y, ids)\nf(tf.abs(x), ids)\n",
}


@pytest.mark.parametrize("text", COMPUTED.values(), ids=COMPUTED)
def test_what_is_computed_is_no_variable(text: str) -> None:
    text = HEAD + MADE + "use(W)\n" + text + ("" if "def" in text else "e = tf.nn.embedding_lookup(y, ids)\n")
    assert {f.state for f in converted(text).findings} == {State.NOTED}


WHOLE = {
    "a product": "X = W * 2\n",
    "normalised": "X = tf.nn.l2_normalize(W, 1)\n",
    "one of two": "X = tf.tanh(W) if a else x\n",
}


@pytest.mark.parametrize("lines", WHOLE.values(), ids=WHOLE)
def test_a_lookup_in_what_is_computed_from_a_variable_says_so(lines: str) -> None:
    result = converted(HEAD + MADE + lines + "e = tf.nn.embedding_lookup(X, ids)\n")
    [finding] = [f for f in result.findings if f.state is State.UNSUPPORTED]
    assert finding.location.line == 4
    assert "computed from the whole variable `W`" in finding.message
