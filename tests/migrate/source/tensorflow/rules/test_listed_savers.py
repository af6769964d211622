"""Savers that list a table among their variables: its rows are saved and restored by them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.source.converting import converted, reasons
from tests.support.source.scripts import HEAD, MADE, compare

STEP = """loss = tf.reduce_sum((tf.nn.embedding_lookup(W, ids) * b - 1.0) ** 2)
train = tf.train.GradientDescentOptimizer(0.05).minimize(loss)
first, second = {0}, {1}
with tf.Session() as s:
    s.run(tf.global_variables_initializer())
    for _ in range(3):
        s.run(train)
    show(s.run(loss))
    path = first.save(s, DIR + "/m")
    for _ in range(3):
        s.run(train)
    show(s.run(loss))
    second.restore(s, path)
    for _ in range(2):
        show(s.run(loss))
        show(s.run(b))
        s.run(train)
"""
LISTS = {
    "lists": ("tf.train.Saver([W, b])", "tf.train.Saver(var_list=[b, W], max_to_keep=1)"),
    "dicts": ('tf.train.Saver({"rows": W, "bias": b})', 'tf.train.Saver({"bias": b, "rows": W})'),
    "the table alone": ("tf.train.Saver([W])", "tf.train.Saver((W,))"),
    "from a checkpoint of everything": ("tf.train.Saver()", "tf.train.Saver([W])"),
}


@pytest.mark.parametrize(("first", "second"), LISTS.values(), ids=LISTS)
def test_a_saver_that_lists_a_table_saves_its_rows(first: str, second: str, tmp_path: Path) -> None:
    text = HEAD + MADE + STEP.format(first, second)
    assert not converted(text).changed
    assert "the state of their optimizer" in reasons(converted(text))
    shown = compare(text, tmp_path, assume=True)
    assert abs(shown[0] - shown[1]).max() > 1e-3


@pytest.mark.parametrize("listed", ["[v for v in (W, b)]", "[W, b][:1]", "[*rest, W]"])
def test_another_list_keeps_the_table(listed: str) -> None:
    text = HEAD + MADE + "rest = [b]\n" + STEP.format(f"tf.train.Saver({listed})", "None")
    assert not converted(text, assume=True).changed
