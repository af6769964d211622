"""Terms over whole tables train as stock TensorFlow trains with the term over the batch's rows, also by a helper."""

from __future__ import annotations

import re

import numpy as np
import pytest

from migrate.report.model import Applicability, State
from tests.support.source.converting import HEAD, LOOKUP, MADE, STEP, converted, stays
from tests.support.source.trained import losses, model, same_losses
from tests.support.source.whole_training import Side

pytest.importorskip("tensorflow")
USER = "tf.concat([tf.reshape(user, [-1]), user[:, 0]], 0)"
TABLES = {"user": "user", "item_table": "item/table", "item_bias": "item/bias"}
#: A term over each table -> the same written by hand over the distinct ids of its lookups.
TERMS = {
    "0.1 * tf.nn.l2_loss(item_table)": "0.1 * tf.nn.l2_loss(tf.gather(item_table, tf.unique(item)[0]))",
    "0.1 * tf.nn.l2_loss(item_bias)": "0.1 * tf.nn.l2_loss(tf.gather(item_bias, tf.unique(item)[0]))",
    "0.1 * tf.reduce_sum(tf.square(weights['user']))": (
        f"0.1 * tf.reduce_sum(tf.square(tf.gather(weights['user'], tf.unique({USER})[0])))"
    ),
    "tf.norm(item_table, ord=1)": "tf.norm(tf.gather(item_table, tf.unique(item)[0]), ord=1)",
    "tf.norm(tensor=item_table)": "tf.norm(tf.gather(item_table, tf.unique(item)[0]))",
    "0.1 * tf.reduce_sum(item_table ** 2)": "0.1 * tf.reduce_sum(tf.gather(item_table, tf.unique(item)[0]) ** 2)",
    "0.1 * tf.reduce_sum(tf.multiply(item_table, item_table))": (
        "0.1 * tf.reduce_sum(tf.gather(item_table, tf.unique(item)[0]) ** 2)"
    ),
    "tf.keras.regularizers.l2(0.1)(item_table)": "0.1 * tf.reduce_sum(tf.gather(item_table, tf.unique(item)[0]) ** 2)",
}
#: Clipping by a norm that no gradient has: a term over all rows cannot be exact, and the steps are those without it.
TRAIN = (
    "\no = tf.train.MomentumOptimizer(0.1, 0.9)\ng, v = zip(*o.compute_gradients(loss))\n"
    "g, _ = tf.clip_by_global_norm(g, 1e9)\ntrain_op = o.apply_gradients(zip(g, v), step)"
)
CLIPPED = TRAIN.lstrip().replace("train_op", "op").replace(", step)", ")\n")
#: Tables in containers: the code -> what it computes, written by hand.
BATCH = "tf.gather(item_table, tf.unique(item)[0])"
CONTAINERS = {
    "params = [item_table, kernel]\nfor p in params:\n    loss += 0.1 * tf.nn.l2_loss(p)": (
        f"loss += 0.1 * (tf.nn.l2_loss({BATCH}) + tf.nn.l2_loss(kernel))"
    ),
    "params = []\nparams.append(item_table)\nloss += 0.1 * tf.add_n([tf.nn.l2_loss(p) for p in params])": (
        f"loss += 0.1 * tf.nn.l2_loss({BATCH})"
    ),
    "params = [item_table]\nothers = params\nfor p in others:\n    one = p\n    loss += 0.1 * tf.nn.l2_loss(one)": (
        f"loss += 0.1 * tf.nn.l2_loss({BATCH})"
    ),
    "def decay(given):\n    return sum(tf.nn.l2_loss(p) for p in given)\nparams = [item_table, kernel]\n"
    "loss += 0.1 * decay(params)": (f"loss += 0.1 * (tf.nn.l2_loss({BATCH}) + tf.nn.l2_loss(kernel))"),
}


@pytest.mark.parametrize(
    ("code", "wanted"),
    [*((f"loss += {a}", f"loss += {b}") for a, b in TERMS.items()), *CONTAINERS.items()],
    ids=[*TERMS, *CONTAINERS],
)
@pytest.mark.one_case
def test_a_term_trains_as_over_the_rows_of_the_batch(code: str, wanted: str) -> None:
    text = model(code + TRAIN)
    assert State.SUGGESTED in {table.verdict for table in converted(text).tables}
    result = converted(text, assume=True)
    assert "l2_loss, " not in result.converted
    assert {table.verdict for table in result.tables} == {State.APPLIED}
    want = same_losses(model(wanted + TRAIN), result.converted, TABLES, rtol=2e-5)
    plain = losses(Side(model(TRAIN.strip()), {}))
    assert np.abs(np.subtract(want, plain)).min() > 1e-3, "the term must matter, or the comparison says nothing"


@pytest.mark.parametrize("term", TERMS)
@pytest.mark.each_case
def test_a_term_over_a_table_asks_for_its_rows(term: str) -> None:
    assert State.SUGGESTED in {table.verdict for table in converted(model(f"loss += {term}{TRAIN}")).tables}


def test_a_product_of_two_tables_is_no_square() -> None:
    product = converted(model(f"loss += 0.1 * tf.reduce_sum(tf.multiply(item_table, item_bias)){TRAIN}"), assume=True)
    square = converted(model(f"loss += 0.1 * tf.reduce_sum(tf.multiply(item_table, item_table)){TRAIN}"), assume=True)
    assert not [f for f in product.findings if f.rule == "tf-table-norm" and f.state is State.APPLIED]
    assert [f for f in square.findings if f.rule == "tf-table-norm" and f.state is State.APPLIED]


def test_moving_averages_of_listed_variables_do_not_stop_a_table() -> None:
    more = "a = tf.train.ExponentialMovingAverage(0.9)\nb = a.apply([kernel, loss])\nc = a.average(kernel)\n"
    assert converted(HEAD + MADE + LOOKUP + more).tables[0].applicability is Applicability.EXACT


def test_a_change_of_values_is_never_counted_as_exact() -> None:
    result = converted(HEAD + MADE + LOOKUP + "loss += tf.nn.l2_loss(W)\n" + CLIPPED, assume=True)
    assert [table.applicability for table in result.tables] == [Applicability.CHANGES_VALUES]
    found = next(f for f in result.findings if f.rule == "tf-table-norm")
    assert found.state is State.APPLIED
    assert found.applicability is Applicability.CHANGES_VALUES
    assert (found.before, found.after) == ("tf.nn.l2_loss(W)", "tf.nn.l2_loss(looked_up_rows(W))")


def test_l2_over_variables_that_are_also_clipped_keeps_the_table() -> None:
    code = (
        "v = tf.trainable_variables()\nloss += tf.add_n([tf.nn.l2_loss(x) for x in v])\n"
        "o = tf.train.AdagradOptimizer(0.1)\ng, _ = tf.clip_by_global_norm(tf.gradients(loss, v), 1.0)\n"
        "op = o.apply_gradients(zip(g, v))\n"
    )
    text = HEAD + MADE + 'b = tf.get_variable("b", [4])\n' + LOOKUP + "loss = tf.reduce_sum(e * b)\n" + code
    assert converted(text, assume=True).converted == text


def test_another_table_stays_exact() -> None:
    more = MADE.replace("W", "V").replace('"w"', '"v"') + "f = tf.nn.embedding_lookup(V, ids)\n"
    result = converted(HEAD + MADE + LOOKUP + more + "loss += tf.nn.l2_loss(W)\n" + CLIPPED, assume=True)
    assert [table.applicability for table in result.tables] == [Applicability.CHANGES_VALUES, Applicability.EXACT]


STAYS = {
    "a lookup in a branch": (
        "f = tf.cond(p, lambda: tf.nn.embedding_lookup(W, a), lambda: b)\nloss += tf.nn.l2_loss(W)\n",
        "in a branch or loop",
    ),
}


#: What needs the matrix itself, so it is a lookup of all ids under an assumption, and no term over the batch.
WHOLE = {
    "an axis": "loss += tf.reduce_sum(tf.square(W), 1)\n",
    "norm of rows": "loss += tf.norm(W, axis=1)\n",
    "another order": "loss += tf.norm(W, ord=np.inf)\n",
    "a product of two": "loss += tf.reduce_sum(tf.multiply(W, U))\n",
    "distance of two tables": "loss += tf.nn.l2_loss(W - U)\n",
}


@pytest.mark.parametrize("code", WHOLE.values(), ids=WHOLE)
def test_what_is_no_sum_over_rows_reads_the_matrix(code: str) -> None:
    text = HEAD + "import numpy as np\n" + MADE + LOOKUP + code + CLIPPED
    assert converted(text).converted == text
    assumed = converted(text, assume=True).converted
    assert "all_rows(W, trainable=True)" in assumed
    assert "l2_loss(W" not in assumed


@pytest.mark.parametrize(("code", "says"), STAYS.values(), ids=STAYS)
def test_what_is_no_sum_over_rows_stays(code: str, says: str) -> None:
    text = HEAD + "import numpy as np\n" + MADE + LOOKUP + code + CLIPPED
    stays(text, says, assume=True)


OTHERS = "terms(*tf.get_collection('others', scope='dis'))"
HELPERS = {
    "a comprehension": "def terms(*params):\n    return tf.add_n([tf.nn.l2_loss(w) for w in params])\n",
    "a loop": "def terms(*params):\n    n = 0.0\n    for w in params:\n        n += tf.nn.l2_loss(w)\n    return n\n",
    "one value": "def terms(w):\n    return tf.nn.l2_loss(w)\n",
    "a sum of squares": "def terms(*params):\n    return tf.add_n([tf.reduce_sum(tf.square(w)) for w in params])\n",
    "a norm": "def terms(*params):\n    return tf.add_n([tf.norm(w) for w in params])\n",
}
#: Helpers that would compute something else from the other values, or do not know what they read.
REFUSED = {
    "a lookup beside it": (
        "def terms(*params):\n"
        "    return tf.add_n([tf.nn.l2_loss(w) + tf.nn.embedding_lookup(w, ids) for w in params])\n"
    ),
    "a mean": "def terms(*params):\n    return tf.add_n([tf.reduce_mean(tf.square(w)) for w in params])\n",
    "a branch": (
        "def terms(*params):\n"
        "    return tf.add_n([tf.cond(c, lambda: tf.nn.l2_loss(w), lambda: 0.0) for w in params])\n"
    ),
    "a product of two": "def terms(*params):\n    return tf.add_n([tf.nn.l2_loss(w * w) for w in params])\n",
}


@pytest.mark.parametrize("helper", HELPERS.values(), ids=HELPERS)
def test_a_term_of_a_shared_helper_is_exact(helper: str) -> None:
    text = HEAD + helper + MADE + LOOKUP + f"loss += 0.1 * terms(W) + 0.1 * terms(e) + {OTHERS}\n" + STEP
    result = converted(text).converted
    assert "create_table(" in result
    assert re.search(r"\bl2_loss\(w\)", result)
    assert not re.search(r"\.(l2_loss|square|norm)\(w\)", result)


@pytest.mark.parametrize("helper", REFUSED.values(), ids=REFUSED)
def test_what_else_a_helper_does_keeps_the_table(helper: str) -> None:
    text = HEAD + helper + MADE + LOOKUP + f"loss += 0.1 * terms(W) + 0.1 * terms(e) + {OTHERS}\n" + STEP
    assert converted(text).converted == text
