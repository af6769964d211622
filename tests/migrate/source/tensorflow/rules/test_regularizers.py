"""Regularizers of variables: what is converted trains as stock TensorFlow with the term over the rows of the batch."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons
from tests.support.source.projects import convert, verdicts, write
from tests.support.source.projects import reasons as reasons_of
from tests.support.source.trained import MODEL, SGD, losses, model

pytest.importorskip("tensorflow")
TABLES = {"user": "user", "item_table": "item/table", "item_bias": "item/bias"}
L2 = "tf.keras.regularizers.l2(0.3)"
TRAIN = f"train_op = {SGD}.minimize(loss, global_step=step)"
#: Clipping by a norm that no gradient has: a term over all rows cannot be exact, and the steps are those without it.
CLIPPED = (
    f"o = {SGD}\ng, v = zip(*o.compute_gradients(loss))\ng, _ = tf.clip_by_global_norm(g, 1e9)\n"
    "train_op = o.apply_gradients(zip(g, v), global_step=step)"
)
CLIP = CLIPPED.replace(", global_step=step)", ")\n")
READS = {
    "get_regularization_loss": "loss += tf.losses.get_regularization_loss()\n",
    "get_regularization_losses": "loss += sum(tf.losses.get_regularization_losses())\n",
    "a collection": "loss += tf.add_n(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))\n",
    "a collection by its text": "loss += tf.add_n(tf.get_collection('regularization_losses'))\n",
    "the total loss": "tf.losses.add_loss(loss)\nloss = tf.losses.get_total_loss()\n",
}
#: What each of them computes, over the rows of the batch.
ROWS = "loss += 0.3 * tf.reduce_sum(tf.gather({0}, tf.unique(item)[0]) ** 2)\n"


def with_regularizer(training: str, *, scope: bool = False, bias: str = "") -> str:
    """Return the model whose item table, and bias, have a regularizer."""
    text = MODEL.replace('"table", [40, 4]', '"table", [40, 4]' + ("" if scope else f", regularizer={L2}"))
    text = text.replace(
        'variable_scope("item"', f'variable_scope("item", regularizer={L2}' if scope else 'variable_scope("item"'
    )
    return model(training, text.replace('"bias", [40], ', f'"bias", [40], {bias}'))


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.one_case
def test_what_is_read_is_taken_over_the_rows_of_the_batch(read: str) -> None:
    text = with_regularizer(read + CLIPPED)
    assert State.SUGGESTED in {table.verdict for table in converted(text).tables}
    result = converted(text, assume=True)
    assert {table.verdict for table in result.tables} == {State.APPLIED}, reasons(result)
    assert Applicability.CHANGES_VALUES in {table.applicability for table in result.tables}
    want, start, _ = losses(model(ROWS.format("item_table") + CLIPPED), TABLES, None)
    got, _, _ = losses(result.converted, TABLES, start)
    plain, _, _ = losses(model(CLIPPED), TABLES, None)
    assert np.abs(np.subtract(want, plain)).min() > 1e-3, "the term must matter, or the comparison says nothing"
    np.testing.assert_allclose(got, want, rtol=2e-5)


def test_the_regularizer_of_a_scope_is_that_of_its_tables() -> None:
    text = with_regularizer(READS["a collection"] + CLIPPED, scope=True)
    result = converted(text, assume=True)
    assert {table.verdict for table in result.tables} == {State.APPLIED}, reasons(result)
    wanted = ROWS.format("item_table") + ROWS.format("item_bias")
    want, start, _ = losses(model(wanted + CLIPPED), TABLES, None)
    got, _, _ = losses(result.converted, TABLES, start)
    np.testing.assert_allclose(got, want, rtol=2e-5)


@pytest.mark.parametrize("scope", [False, True])
def test_what_nothing_reads_is_dropped_exactly(scope: bool) -> None:
    text = with_regularizer(TRAIN, scope=scope)
    result = converted(text)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, reasons(result)
    assert "no code reads the regularization losses" in str([f.reason for f in result.findings]) + str(
        [t.reasons for t in result.tables]
    ) + reasons(result)
    want, start, _ = losses(text, TABLES, None)
    got, _, _ = losses(result.converted, TABLES, start)
    assert len(set(np.round(want, 4))) == len(want)
    np.testing.assert_allclose(got, want, rtol=1e-5)


R = f"r = {L2}\n"
WITH = MADE.replace("())", "(), regularizer=r)")
READ = READS["a collection"]
#: What else the file holds, so that others may read the losses.
DOUBTS = {
    "a module that is not read": (HEAD + "import helpers\n" + R + WITH + LOOKUP, STEP, CLIP),
    "a star": (HEAD + "from .helpers import *\n" + R + WITH + LOOKUP, STEP, CLIP),
}
UNKNOWN = "r = lambda w: 0.1 * tf.reduce_max(w)\n"
BRANCH = "e = tf.cond(c, lambda: tf.nn.embedding_lookup(W, ids), lambda: z)\n"
RETURNED = f"def f(ids):\n    {R}    {WITH}    return tf.nn.embedding_lookup(W, ids)\ne = f(ids)\n"
INSIDE = "".join(f"        {line}\n" for line in CLIP.splitlines())
METHODS = (
    f"class M:\n    def a(self, r):\n        self.W = {WITH[4:]}    def b(self, ids):\n"
    f"        e = tf.nn.embedding_lookup(self.W, ids)\n        loss = e\n        {READ}{INSIDE}"
)
TWICE = (
    f'def f(ids):\n    with tf.variable_scope("s", reuse=tf.AUTO_REUSE):\n        {WITH}    {LOOKUP}    return e\n'
    "loss = f(a) + f(b)\n"
)
#: Not even under an assumption.
REFUSED = {
    "read before the lookup": R + WITH + READ + LOOKUP + CLIP,
    "read between two lookups": R + WITH + LOOKUP + READ + LOOKUP.replace("e =", "f =") + CLIP,
    "read by a function that is called before": f"def reg(loss):\n    {READ}    return loss\n"
    + f"def more(loss):\n    return reg(loss)\n{R}{WITH}loss = more(0.0)\n{LOOKUP}{CLIP}",
    "read by scope": R + WITH + LOOKUP + 'loss += tf.losses.get_regularization_loss(scope="w")\n' + CLIP,
    "a collection by scope": R + WITH + LOOKUP + READ.replace("LOSSES)", 'LOSSES, "w")') + CLIP,
    "a function that is not known": UNKNOWN + WITH + LOOKUP + READ + CLIP,
    "a lookup in a loop": R + WITH + "for _ in range(2):\n    " + LOOKUP + READ + CLIP,
    "a lookup in a branch of the graph": R + WITH + BRANCH + READ + CLIP,
    "a lookup that is returned": RETURNED + READ + CLIP,
    "a lookup in another method": METHODS,
    "a function that runs twice": R + TWICE + READ + CLIP,
}


@pytest.mark.parametrize(("text", "step", "clipped"), DOUBTS.values(), ids=DOUBTS)
def test_what_others_may_read_is_kept_and_an_assumption_where_it_cannot_be(text: str, step: str, clipped: str) -> None:
    assert "regularized(" in converted(text + step).converted
    assert not converted(text + clipped).changed
    result = converted(text + clipped, assume=True)
    assert result.changed
    assert "nothing outside of what is converted reads" in reasons(result)


def test_a_model_without_a_training_step_keeps_its_regularizer() -> None:
    assert "regularized(" in converted(HEAD + R + WITH + LOOKUP).converted


def test_a_term_over_all_rows_whose_gradient_is_clipped_is_a_further_assumption() -> None:
    pairs = "o = tf.train.GradientDescentOptimizer(0.1)\ng, v = zip(*o.compute_gradients(loss))\n"
    clip = pairs + "g, n = tf.clip_by_global_norm(g, 1.0)\nop = o.apply_gradients(zip(g, v))\n"
    for text in (R + WITH + LOOKUP + READ + clip, MADE + LOOKUP + "loss = tf.nn.l2_loss(W)\n" + clip):
        [table] = converted(HEAD + text, assume=True).findings[:1]
        assert "clipping may treat each use of an id separately" in table.assumptions


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_a_term_that_has_no_place_keeps_the_table(text: str) -> None:
    result = converted(HEAD + text, assume=True)
    assert not result.changed
    assert "`regularizer=" in reasons(result)


BY_PLACE = 'W = tf.get_variable("w", [9, 4], tf.float32, tf.zeros_initializer(), r)\n'
KEY = "loss += tf.add_n(tf.get_collection({}))\n"


@pytest.mark.parametrize("text", [BY_PLACE + LOOKUP + READ, WITH + LOOKUP + KEY.format("key")], ids=["place", "key"])
def test_a_regularizer_by_its_place_and_a_key_that_is_computed_count_as_well(text: str) -> None:
    assert "regularized(" in converted(HEAD + R + text + STEP, assume=True).converted
    result = converted(HEAD + R + text + CLIP)
    assert not result.changed
    assert "acts on the whole table" in reasons(result)


def test_another_collection_is_not_that_of_the_regularizers() -> None:
    result = converted(HEAD + R + WITH + LOOKUP + KEY.format('"mine"') + STEP)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, reasons(result)


def test_another_file_that_reads_them(tmp_path: Path) -> None:
    made = f"    W = tf.get_variable('w', [8, 4], regularizer={L2})\n    e = tf.nn.embedding_lookup(W, ids)\n"
    net = f"{HEAD}def net(ids):\n{made}    return e\n"
    main = HEAD + "from net import net\nids = tf.placeholder(tf.int64, [None])\nloss = tf.reduce_sum(net(ids))\n"
    step = "op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
    read = "loss += tf.losses.get_regularization_loss()\n"
    results = convert(write(tmp_path / "without", {"net.py": net, "main.py": main + step}))
    assert verdicts(results) == {"w": "applied"}, reasons_of(results)
    results = convert(write(tmp_path / "with", {"net.py": net, "main.py": main + read + step}))
    assert verdicts(results) == {"w": "applied"}
    assert "regularized(" in results["net.py"].converted
    root = write(tmp_path / "clipped", {"net.py": net, "main.py": main + read + CLIP})
    assert verdicts(convert(root)) != {"w": "applied"}
    results = convert(root, assume=True)
    assert verdicts(results) == {"w": "applied"}
    assert "REGULARIZATION_LOSSES" in results["net.py"].converted


GOT = "terms = tf.losses.get_regularization_losses()\n"
PLACED = {
    "an index": GOT + "loss += 2.0 * terms[0]\n",
    "at once": "loss += tf.losses.get_regularization_losses()[0]\n",
    "unpacked": "(first,) = tf.get_collection('regularization_losses')\nloss += first\n",
    "with factors": GOT + "loss += tf.add_n([a * t for a, t in zip([2.0], terms)])\n",
    "taken out": GOT + "loss += terms.pop()\n",
}


@pytest.mark.parametrize("read", PLACED.values(), ids=PLACED)
def test_a_term_that_is_read_by_its_place_keeps_the_table(read: str) -> None:
    result = converted(with_regularizer(read + CLIPPED), assume=True)
    assert "read by its index" in str([table.reasons for table in result.tables]) + reasons(result)
    assert State.UNSUPPORTED in {table.verdict for table in result.tables}
