"""Conversions to SparseOperationKit, run over its façade and compared with stock TensorFlow."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("tensorflow")
import tensorflow as tf

from migrate.report.model import Applicability, State
from tests.support.source.converting import reasons
from tests.support.targets.conversion import convert
from tests.support.targets.facades import sok_installed
from tests.support.targets.programs import CLIPPED, ESTIMATOR, GRADIENTS, MONITORED, SESSION, program, run_program

STEPS = {"minimize": {}, "clipped": {"step": CLIPPED}, "gradients": {"step": GRADIENTS}}
#: The lookup of the programs, in other forms.
DENSE = 'tf.reduce_sum(tf.nn.embedding_lookup(W, features["ids"]), 1)'

#: A sparse matrix of a value for some ids, in columns that are not packed to the left; row 3 has none.
WIDE = """    dense = tf.reduce_sum(tf.one_hot(features["ids"], 20), 1) * features["x"][:, :1]
    wide = tf.sparse.from_dense(dense * tf.cast(tf.not_equal(tf.range(8), 3), tf.float32)[:, None])
    """
PRODUCTS = {
    "one-hot": '    rows = tf.reduce_sum(tf.matmul(tf.one_hot(features["ids"], 20), W), 1)',
    "tensordot": '    rows = tf.reduce_sum(tf.tensordot(tf.one_hot(features["ids"], 20), W, 1), 1)',
    "sparse": WIDE + "rows = tf.sparse_tensor_dense_matmul(wide, W)",
    "factorization machine": WIDE + "rows = tf.sparse.sparse_dense_matmul(wide, W) ** 2 - "
    "tf.sparse.sparse_dense_matmul(wide, tf.square(W))",
}


def trained(text: str, directory: Path, moved: tuple[str, ...] = ("user", "bias")) -> None:
    """Show that a program and its conversion over the façade have the same losses."""
    result = convert(text, "sok", assume=True)
    assert {table.name for table in result.tables if table.verdict is State.APPLIED} == {*moved}, reasons(result)
    want = run_program(text, directory)
    with sok_installed():
        got = run_program(result.converted, directory)
    assert len({round(loss, 5) for loss in want}) == 5
    np.testing.assert_allclose(got, want, rtol=1e-5)


@pytest.mark.parametrize("step", STEPS.values(), ids=STEPS)
@pytest.mark.one_case
def test_it_trains_as_before(step: dict[str, str], tmp_path: Path) -> None:
    trained(program(SESSION, **step), tmp_path)


@pytest.mark.parametrize(
    ("text", "reader"),
    [
        (program(MONITORED), "train.MonitoredTrainingSession"),
        (program(ESTIMATOR), "estimator.EstimatorSpec"),
        (
            program(SESSION).replace("    loss = net", "    saver = tf.train.Saver()\n    loss = net"),
            "train.Saver",
        ),
    ],
)
@pytest.mark.one_case
def test_a_program_that_reads_whole_variables_keeps_the_tables(text: str, reader: str) -> None:
    """SOK's variables then raise, or are saved without their rows."""
    result = convert(text, "sok", assume=True)
    assert result.converted == text and f"`{reader}` reads every variable" in reasons(result)
    listed = text.replace("Saver()", 'Saver([tf.get_variable("kernel", [8, 1])], max_to_keep=1)')
    assert (convert(listed, "sok", assume=True).converted != listed) == (listed != text)


def test_a_product_is_written_in_its_own_form() -> None:
    text = program(SESSION)
    one_hot = convert(text.replace("    rows = " + DENSE, PRODUCTS["one-hot"]), "sok", assume=True)
    assert 'sok.all2all_dense_embedding(W, tf.reshape(tf.cast(features["ids"], tf.int64), [-1]))' in one_hot.converted
    assert "lies in [0, rows)" in reasons(one_hot)
    result = convert(text.replace("    rows = " + DENSE, PRODUCTS["sparse"]), "sok")
    assert "in the order of its rows" in reasons(result)
    (user,) = [table for table in result.tables if table.name == "user"]
    assert user.verdict is State.SUGGESTED


def test_entries_in_another_order_fail_when_it_runs(tmp_path: Path) -> None:
    turned = WIDE + "wide = tf.SparseTensor(wide.indices[::-1], wide.values[::-1], wide.dense_shape)\n    rows = "
    text = program(SESSION).replace(
        "    rows = " + DENSE, turned.replace("    rows = ", "    rows = tf.sparse.sparse_dense_matmul(wide, W)")
    )
    converted = convert(text, "sok", assume=True).converted
    with sok_installed(), pytest.raises(tf.errors.InvalidArgumentError, match="from_value_rowids"):
        run_program(converted, tmp_path)


@pytest.mark.parametrize(
    ("product", "says"),
    [
        ("    rows = tf.reduce_sum(tf.matmul(tf.one_hot(f(features), 20), W), 1)", "needs the ids twice"),
        ("    rows = tf.sparse.sparse_dense_matmul(f(features), W)", "bind the sparse tensor to a name"),
        (WIDE + "rows = tf.sparse.sparse_dense_matmul(wide, W, adjoint_a=True)", "adjoint"),
    ],
)
def test_a_product_that_it_cannot_write_keeps_the_table(product: str, says: str) -> None:
    text = program(SESSION).replace("    rows = " + DENSE, product)
    result = convert(text, "sok", assume=True)
    (user,) = [table for table in result.tables if table.name == "user"]
    assert user.verdict is State.UNSUPPORTED
    assert says in reasons(result)


@pytest.mark.parametrize(
    ("given", "becomes"),
    [
        ("tf.zeros_initializer()", "0.0"),
        ("tf.ones_initializer()", "1.0"),
        ("tf.constant_initializer(-2e-3)", "-2e-3"),
        ("tf.constant_initializer(value=5)", "5"),
    ],
)
def test_constant_initial_values_are_exact(given: str, becomes: str) -> None:
    result = convert(program(SESSION).replace("tf.constant_initializer(0.3)", given), "sok")
    assert f'initializer="{becomes}", name="user"' in result.converted
    assert {table.applicability for table in result.tables} == {Applicability.EXACT}


def test_a_value_of_all_variables_keeps_the_tables() -> None:
    text = program(SESSION).replace(
        "    return tf.reduce_mean((out - labels) ** 2)",
        "    norm = tf.add_n([tf.nn.l2_loss(v) for v in tf.trainable_variables()])\n"
        "    return tf.reduce_mean((out - labels) ** 2) + norm",
    )
    assert convert(text, "sok", assume=True).converted == text
