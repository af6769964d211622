"""Terms over all rows of tables: a converted program trains as the original does, step by step, at rows and slots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, reasons, stays
from tests.support.source.trained import MODEL, batches, model
from tests.support.source.whole_training import Side, apart

pytest.importorskip("tensorflow")
TABLES = {"user": "user", "item_table": "item/table", "item_bias": "item/bias"}
OPTIMIZERS = {
    "sgd": "GradientDescentOptimizer(0.1)",
    "momentum": "MomentumOptimizer(0.05, 0.9)",
    "nesterov": "MomentumOptimizer(0.05, 0.9, use_nesterov=True)",
    "adagrad": "AdagradOptimizer(0.1)",
    "adadelta": "AdadeltaOptimizer(0.5)",
    "rmsprop": "RMSPropOptimizer(0.01, momentum=0.5)",
    "centered": "RMSPropOptimizer(0.01, centered=True)",
    "adam": "AdamOptimizer(tf.train.exponential_decay(0.01, step, 20, 0.9))",
    "ftrl": "FtrlOptimizer(0.1, l1_regularization_strength=0.001, l2_shrinkage_regularization_strength=0.01)",
}
ALL = "0.01 * (tf.nn.l2_loss(weights['user']) + tf.reduce_sum(item_table ** 2) + tf.nn.l2_loss(item_bias))"
#: Code of a loss -> what it becomes.
TERMS = {
    "loss += 0.1 * tf.nn.l2_loss(item_table)": "0.1 * l2_loss(item_table)",
    "loss += 0.1 * tf.reduce_sum(tf.square(weights['user']))": "0.1 * (2.0 * l2_loss(weights['user']))",
    "loss += 0.001 * tf.reduce_sum(tf.abs(item_table))": "0.001 * l1_norm(item_table)",
    "loss += 0.01 * tf.norm(item_table)": "0.01 * tf.sqrt(2.0 * l2_loss(item_table))",
    "loss += 0.001 * tf.norm(item_table, ord=1)": "0.001 * l1_norm(item_table)",
    "r = tf.keras.regularizers.l1_l2(0.001, 0.01)\nloss += r(item_table)": "penalty(r, item_table)",
    "if len(TERMS) > 1:\n    loss += sum(0.1 * tf.reduce_sum(w * w) for w in [item_table])": "2.0 * l2_loss(w)",
    "params = [item_table, kernel]\nfor p in params:\n    loss += 0.1 * tf.nn.l2_loss(p)": "0.1 * l2_loss(p)",
    "params = []\nparams.append(item_bias)\nloss += tf.add_n([tf.nn.l2_loss(p) for p in params])": "[l2_loss(p) for p",
    "def decay(given):\n    return sum(tf.nn.l2_loss(p) for p in given)\nparams = [weights['user'], kernel]\n"
    "loss += 0.1 * decay(params)": "sum(l2_loss(p) for p in given)",
    "def decay(*given):\n    return tf.add_n([tf.nn.l2_loss(w) for w in given])\n"
    "tf.add_to_collection('own', kernel)\n"
    "loss += 0.1 * decay(item_table, item_bias) + decay(kernel, tf.square(kernel))\n"
    "loss += 0.1 * decay(*tf.get_collection('own'))": "[l2_loss(w) for w in given]",
    "def decay(*given):\n    return tf.add_n([tf.reduce_sum(tf.square(w)) + tf.norm(w) for w in given])\n"
    "tf.add_to_collection('own', kernel)\n"
    "loss += 0.01 * decay(item_table, item_bias) + 0.01 * decay(kernel, tf.square(kernel), u)\n"
    "loss += 0.01 * decay(*tf.get_collection('own'))": "2.0 * l2_loss(w) + tf.sqrt(2.0 * l2_loss(w))",
}
NAMES = "TERMS = 'two'\n"


def trained(text: str, count: int = 30) -> tuple[Side, Side]:
    """Return the original and what it is converted to, which must be exact, after as many steps."""
    result = converted(text)
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}, reasons(result)
    assert {table.verdict for table in result.tables} == {State.APPLIED}, reasons(result)
    original, changed = Side(text, {}), Side(result.converted, TABLES)
    changed.start_as(original)
    for side in (original, changed):
        side.train(fed(count))
    return original, changed


def fed(count: int) -> list[dict[str, Any]]:
    """Return batches; rows that only the last ones name wait for them."""
    given = batches(count)
    for one in given[: -count // 5]:
        one["user"], one["item"] = one["user"] % 30, one["item"] % 25
    return given


def training(optimizer: str, term: str) -> str:
    """Return the training code of a model with a term in its loss."""
    return f"{term}\ntrain_op = tf.train.{optimizer}.minimize(loss, global_step=step)"


@pytest.mark.parametrize("optimizer", OPTIMIZERS.values(), ids=OPTIMIZERS)
@pytest.mark.one_case
def test_rows_slots_and_losses_are_those_of_the_original(optimizer: str, tmp_path: Path) -> None:
    first, changed = trained(model(training(optimizer, f"loss += {ALL}")), 150)
    original, changed = first.restart(tmp_path / "original"), changed.restart(tmp_path / "changed")
    for side in (original, changed):
        side.train(fed(60))
    assert max(apart(original, changed).values()) < 2e-5
    plain = Side(model(training(optimizer, "")), {})
    plain.train(fed(150) + fed(60))  # from the same seed
    assert np.abs(plain.values()["user"] - original.values()["user"]).max() > 1e-3  # the terms matter


@pytest.mark.parametrize(("code", "becomes"), TERMS.items(), ids=TERMS)
@pytest.mark.one_case
def test_each_form_of_a_term_is_exact(code: str, becomes: str) -> None:
    text = NAMES + model(training("AdagradOptimizer(0.1)", code))
    assert becomes in converted(text).converted
    original, changed = trained(text)
    assert max(apart(original, changed).values()) < 2e-5


REGULARIZED = MODEL.replace('"table", [40, 4]', '"table", [40, 4], regularizer=tf.keras.regularizers.l2(0.01)')
READS = {
    "their sum": "loss += tf.losses.get_regularization_loss()\n",
    "the total loss": "tf.losses.add_loss(loss)\nloss = tf.losses.get_total_loss()\n",
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
@pytest.mark.one_case
def test_regularizers_of_variables_are_exact(read: str) -> None:
    text = model(training("MomentumOptimizer(0.05, 0.9)", read), REGULARIZED)
    assert "regularized(create_table(" in converted(text).converted
    original, changed = trained(text)
    assert max(apart(original, changed).values()) < 2e-5


def test_a_regularizer_whose_losses_nobody_reads_costs_no_step_a_pass_over_the_rows() -> None:
    text = model("train_op = tf.train.GradientDescentOptimizer(0.1).minimize(loss, step)", REGULARIZED)
    changed = converted(text.replace("import tensorflow", "import helpers\nimport tensorflow", 1)).converted
    assert "regularized(" in changed
    original, got = Side(text, {}), Side(changed.replace("import helpers\n", ""), TABLES)
    got.start_as(original)
    for side in (original, got):
        side.train(fed(5))
    assert max(apart(original, got).values()) < 2e-5
    norms = [op.name for op in got.session.graph.get_operations() if op.type == "RecWholeTableNorms"]
    train = got.session.graph.get_operations()
    assert norms and not [op for op in train if op.type == "RecApply" and _depends(op, norms[0])]


def _depends(op: Any, name: str) -> bool:
    """True if an op needs another one."""
    seen, pending = set(), [op]
    while pending:
        one = pending.pop()
        if one.name == name:
            return True
        fresh = {*(each.op for each in one.inputs), *one.control_inputs} - seen
        seen |= fresh
        pending += fresh
    return False


CLIP = (
    "o = tf.train.AdamOptimizer()\ng, v = zip(*o.compute_gradients(loss))\ng, _ = tf.clip_by_global_norm(g, 1.0)\n"
    "op = o.apply_gradients(zip(g, v))\n"
)
TWICE = "o = tf.train.AdagradOptimizer(0.1)\nop = o.minimize(loss)\nother = o.minimize(loss * 2)\n"
TERM = "loss += tf.nn.l2_loss(W)\n"
#: Terms that cannot be exact -> why.
DOUBTS = {
    "clipped gradients": (TERM + CLIP, "the gradients may be clipped"),
    "two steps": (TERM + TWICE, "several training steps change the rows"),
    "a branch": ("loss += tf.cond(c, lambda: tf.nn.l2_loss(W), lambda: 0.0)\n" + STEP, "a branch or loop of the graph"),
    "lazy adam": (TERM + "op = tf.contrib.opt.LazyAdamOptimizer(0.1).minimize(loss)\n", "`LazyAdamOptimizer` changes"),
}


@pytest.mark.parametrize(("code", "why"), DOUBTS.values(), ids=DOUBTS)
def test_a_term_that_cannot_be_exact_says_why_and_is_a_decision(code: str, why: str) -> None:
    made = 'with tf.variable_scope("s"):\n    ' + MADE
    text = HEAD + made + 'b = tf.get_variable("b", [4])\n' + LOOKUP + code
    stays(text, why)
    assert converted(text, assume=True).tables[0].applicability is Applicability.CHANGES_VALUES


def test_branches_of_which_one_trains_are_one_step() -> None:
    code = (
        'if kind == "adam":\n    op = tf.train.AdamOptimizer().minimize(loss)\nelse:\n'
        "    op = tf.train.GradientDescentOptimizer(0.1).minimize(loss)\n"
    )
    assert "l2_loss(W)" in converted(HEAD + MADE + LOOKUP + TERM + code).converted


def test_terms_of_one_code_over_several_tables_have_one_form() -> None:
    code = MADE.replace("W", "V").replace('"w"', '"v"') + "f = tf.nn.embedding_lookup(V, ids)\n"
    code += "def decay(x):\n    return tf.nn.l2_loss(x)\nloss += decay(W) + decay(V)\n"
    result = converted(HEAD + MADE + LOOKUP + code + STEP)
    assert "return l2_loss(x)" in result.converted
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}
    assert np.all(["decayed" not in text for text in reasons(result).splitlines()])
