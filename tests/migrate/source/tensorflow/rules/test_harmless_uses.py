"""Uses that compute nothing with a table do not keep it; those that do, or may, still do."""

from __future__ import annotations

import pytest

from tests.support.source.converting import HEAD, LOOKUP, MADE, converted, stays
from tests.support.source.scripts import compare

HARMLESS = {
    "printed": 'print("made", W)\n',
    "printed in a text": "print(f'made {W}')\n",
    "formatted": "print('made {}'.format(W), 'and %s' % W, [W, str(W)])\n",
    "logged": "import logging\nlogger = logging.getLogger(__name__)\nlogger.info('made %s', W)\nlogging.debug(W)\n",
    "logged by TensorFlow": "tf.logging.info('made %s', W)\n",
    "asked for": "assert W is not None\nif W is None:\n    raise ValueError\n",
}
RUN = """ids = tf.constant([1, 2, 1], tf.int64)
e = tf.nn.embedding_lookup(W, ids)
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    show(s.run(e))
"""


def test_it_runs_as_before() -> None:
    compare(HEAD + MADE + "".join(HARMLESS.values()) + RUN)


@pytest.mark.parametrize("lines", HARMLESS.values(), ids=HARMLESS)
def test_the_line_stays_and_the_table_moves(lines: str) -> None:
    result = converted(HEAD + MADE + lines + LOOKUP)
    assert lines in result.converted and "sparse_lookup(W" in result.converted
    assert "tf-harmless-use" in {f.rule for f in result.findings}


KEPT = {
    "its class": ("assert isinstance(W, tf.Variable)\n", "passed to `isinstance`"),
    "printed after more": ("print(mean(W))\n", "passed to `mean`"),
    "printed and kept": ("last = print(W)\n", "passed to `print`"),
    "a logger of its own": ("class Log:\n    def info(self, w): w.load(0)\nlog = Log()\nlog.info(W)\n", "import"),
    "a print of its own": ("def print(w):\n    return keep(w)\nprint(W)\n", "keep"),
    "equal to None": ("if W == None:\n    pass\n", "not a lookup"),
}  # fmt: skip


@pytest.mark.parametrize(("lines", "says"), KEPT.values(), ids=KEPT)
def test_what_may_use_the_rows_keeps_the_table(lines: str, says: str) -> None:
    stays(HEAD + MADE + lines + LOOKUP, says, assume=True)


def test_a_product_that_is_printed_is_a_read_of_all_rows() -> None:
    text = HEAD + MADE + "print(W * 2)\n" + LOOKUP
    stays(text, "`W * 2` computes with all rows of `W`")
    assert "print(all_rows(W, trainable=True) * 2)" in converted(text, assume=True).converted
