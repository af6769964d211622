"""Regularizers of variables: dropped where nothing reads their terms, kept over all rows, or the table stays."""

from __future__ import annotations

from pathlib import Path

import pytest

from migrate.report.model import Applicability
from migrate.source.driver.convert_file import convert_text
from migrate.source.settings.options import Options
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons, stays
from tests.support.source.projects import convert, judged, verdicts, write
from tests.support.source.trained import MODEL, SGD, model, same_losses

pytest.importorskip("tensorflow")
TABLES = {"user": "user", "item_table": "item/table", "item_bias": "item/bias"}
L2 = "tf.keras.regularizers.l2(0.3)"
R = f"r = {L2}\n"
WITH = MADE.replace("())", "(), regularizer=r)")
READ = "loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))\n"
#: A term over all rows cannot be exact where gradients are clipped.
CLIP = (
    f"o = {SGD}\ng, v = zip(*o.compute_gradients(loss))\ng, _ = tf.clip_by_global_norm(g, 1e9)\n"
    "op = o.apply_gradients(zip(g, v))\n"
)


@pytest.mark.parametrize("scope", [False, True])
def test_what_nothing_reads_is_dropped_exactly(scope: bool) -> None:
    text = MODEL.replace('"table", [40, 4]', f'"table", [40, 4], regularizer={L2}')
    if scope:
        text = MODEL.replace('variable_scope("item"', f'variable_scope("item", regularizer={L2}')
    text = model(f"train_op = {SGD}.minimize(loss, global_step=step)", text)
    result = converted(text)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, reasons(result)
    same_losses(text, result.converted, TABLES)


#: Code that reads the terms, or may: the regularizer is kept, and the table stays where that cannot be exact.
READS = {
    "read": R + WITH + LOOKUP + READ,
    "by its text": R + WITH + LOOKUP + "loss += tf.add_n(tf.get_collection('regularization_losses'))\n",
    "a key that is computed": R + WITH + LOOKUP + "loss += tf.add_n(tf.get_collection(key))\n",
    "a regularizer by its place": R
    + 'W = tf.get_variable("w", [9, 4], tf.float32, tf.zeros_initializer(), r)\n'
    + LOOKUP
    + READ,
}


@pytest.mark.parametrize("text", READS.values(), ids=READS)
def test_what_is_read_is_kept(text: str) -> None:
    assert "regularized(" in converted(HEAD + text + STEP, assume=True).converted
    stays(HEAD + text + CLIP, "acts on the whole table", assume=True)


#: Not even where no gradient is clipped.
REFUSED = {
    "read by scope": R + WITH + LOOKUP + 'loss += tf.losses.get_regularization_loss(scope="w")\n',
    "a collection by scope": R + WITH + LOOKUP + READ.replace("LOSSES)", 'LOSSES, "w")'),
    "a function that is not known": "r = lambda w: 0.1 * tf.reduce_max(w)\n" + WITH + LOOKUP + READ,
}


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_term_that_cannot_be_kept_keeps_the_table(text: str) -> None:
    assert not converted(HEAD + text + STEP, assume=True).changed


@pytest.mark.parametrize("line", ["import helpers\n", "from .json import terms\n"], ids=["a library", "its package"])
def test_what_others_may_read_is_kept_and_an_assumption_where_it_cannot_be(line: str) -> None:
    text = HEAD + line + R + WITH + LOOKUP
    assert "regularized(" in converted(text + STEP).converted
    assert not converted(text + CLIP).changed
    assert converted(text + CLIP, assume=True).changed


def test_another_collection_is_not_that_of_the_regularizers() -> None:
    result = converted(HEAD + R + WITH + LOOKUP + "loss += tf.add_n(tf.get_collection('mine'))\n" + STEP)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, reasons(result)
    assert "regularized(" not in result.converted


def test_a_folder_of_which_one_file_is_given_may_read_them() -> None:
    text = HEAD + "from parts import terms\n" + R + WITH + LOOKUP + STEP
    assert "regularized(" in convert_text("parts/net.py", text, Options(), {}).converted


def test_another_file_that_reads_them(tmp_path: Path) -> None:
    made = f"    W = tf.get_variable('w', [8, 4], regularizer={L2})\n    e = tf.nn.embedding_lookup(W, ids)\n"
    net = f"{HEAD}def net(ids):\n{made}    return e\n"
    main = HEAD + "from net import net\nids = tf.placeholder(tf.int64, [None])\nloss = tf.reduce_sum(net(ids))\n"
    step = "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
    results = judged(tmp_path / "without", {"net.py": net, "main.py": main + step}, {"w": "applied"})
    assert "regularized(" not in results["net.py"].converted
    results = judged(tmp_path / "with", {"net.py": net, "main.py": main + READ + step}, {"w": "applied"})
    assert "regularized(" in results["net.py"].converted
    assert verdicts(convert(write(tmp_path / "clipped", {"net.py": net, "main.py": main + READ + CLIP}))) != {
        "w": "applied"
    }
