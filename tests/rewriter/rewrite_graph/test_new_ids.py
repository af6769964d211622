"""Ids beyond the rows of the variable: their rows start as the variable's rows did, which start as ever."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from numpy.typing import NDArray

from rewriter import rewrite
from rewriter.facts import Table

v1 = tf.compat.v1
ROWS, DIM, NEW = 60, 4, 20_000
# The deviation of a unit normal that is cut at two deviations.
CUT = 0.8796256610342398


def _uniform(low: float, high: float) -> tuple[float, float, float, float]:
    return (low + high) / 2, (high - low) / 12**0.5, low, high


def _normal(mean: float, deviation: float) -> tuple[float, float, float, float]:
    return mean, deviation, -math.inf, math.inf


def _truncated(mean: float, deviation: float) -> tuple[float, float, float, float]:
    return mean, CUT * deviation, mean - 2 * deviation, mean + 2 * deviation


GLOROT = (6 / (ROWS + DIM)) ** 0.5
keras = tf.keras.initializers
#: Initializer, and mean, deviation and limits of what it draws.
DISTRIBUTIONS: dict[str, tuple[Callable[[], Any], tuple[float, float, float, float]]] = {
    "normal": (lambda: v1.random_normal_initializer(0.1, 0.3), _normal(0.1, 0.3)),
    "standard normal": (lambda: v1.random_normal_initializer(), _normal(0, 1)),
    "truncated normal": (lambda: v1.truncated_normal_initializer(-0.2, 0.3), _truncated(-0.2, 0.3)),
    "uniform": (lambda: v1.random_uniform_initializer(-1, 2), _uniform(-1, 2)),
    "unit uniform": (lambda: v1.random_uniform_initializer(), _uniform(0, 1)),
    "glorot uniform": (lambda: v1.glorot_uniform_initializer(), _uniform(-GLOROT, GLOROT)),
    "glorot normal": (lambda: v1.glorot_normal_initializer(), _truncated(0, (2 / (ROWS + DIM)) ** 0.5 / CUT)),
    "by the library": (lambda: None, _uniform(-GLOROT, GLOROT)),
    "variance scaling": (lambda: v1.variance_scaling_initializer(3.0), _truncated(0, (3 / ROWS) ** 0.5 / CUT)),
    "unit scaling": (lambda: v1.uniform_unit_scaling_initializer(), _uniform(-((3 / ROWS) ** 0.5), (3 / ROWS) ** 0.5)),
    "orthogonal": (lambda: v1.orthogonal_initializer(0.5), _normal(0, 0.5 / ROWS**0.5)),
    "constant": (lambda: v1.constant_initializer(0.2), _normal(0.2, 0)),
    "zeros": (lambda: v1.zeros_initializer(), _normal(0, 0)),
    "ones": (lambda: v1.ones_initializer(), _normal(1, 0)),
    "normal of 2": (lambda: tf.random_normal_initializer(0.1, 0.3), _normal(0.1, 0.3)),
    "uniform of 2": (lambda: tf.random_uniform_initializer(-1, 2, seed=4), _uniform(-1, 2)),
    "uniform of Keras": (lambda: keras.RandomUniform(), _uniform(-0.05, 0.05)),
    "glorot of Keras": (lambda: keras.GlorotUniform(seed=3), _uniform(-GLOROT, GLOROT)),
    "he of Keras": (lambda: keras.HeNormal(), _truncated(0, (2 / ROWS) ** 0.5 / CUT)),
    "truncated of Keras": (lambda: keras.TruncatedNormal(0.5, 0.1), _truncated(0.5, 0.1)),
    "ops": (lambda: lambda shape, **_: 0.5 - tf.random.normal(shape) / 4, _normal(0.5, 0.25)),
    "ops on a uniform": (lambda: lambda shape, **_: -2 * tf.random.uniform(shape, -1, 0), _uniform(0, 2)),
    "a uniform of a width and a begin": (
        lambda: lambda shape, **_: tf.random.uniform(shape) * (tf.constant(2.0) - tf.constant(-1.0)) + 5.0,
        _uniform(5, 8),
    ),
}


def _start(
    initializer: Any, ids: Any, moved: bool, use_resource: bool = True
) -> tuple[NDArray[np.float32], Table | None]:
    with tf.Graph().as_default() as graph:
        v1.set_random_seed(3)
        table = v1.get_variable("user", [ROWS, DIM], initializer=initializer, use_resource=use_resource)
        wanted = v1.placeholder(tf.int64, [None])
        rows = v1.nn.embedding_lookup(table, wanted)
        plan = rewrite(graph) if moved else None
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            return session.run(rows, {wanted: ids}), plan.tables[0] if plan else None


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_new_ids_start_as_the_variable_did(distribution: str, use_resource: bool) -> None:
    initializer, (mean, deviation, low, high) = DISTRIBUTIONS[distribution]
    rows, table = _start(initializer(), np.arange(ROWS, ROWS + NEW), True, use_resource)
    assert table is not None
    assert bool(table.new_rows.assumption) == (distribution == "orthogonal")
    assert abs(rows.mean() - mean) <= 0.02 * deviation + 1e-6
    assert abs(rows.std() - deviation) <= 0.02 * deviation + 1e-6
    assert rows.min() >= low - 1e-6
    assert rows.max() <= high + 1e-6
    if not math.isinf(low):
        assert rows.max() - rows.min() >= 0.98 * (high - low)
    if deviation:
        assert len(np.unique(rows)) > 0.9 * rows.size
        assert (np.abs(np.corrcoef(rows.T) - np.eye(DIM)) < 0.05).all()


def test_new_rows_of_an_embedding_column(graph: tf.Graph) -> None:
    column = v1.feature_column.categorical_column_with_identity("tags", ROWS)
    tags = tf.SparseTensor([[0, 0]], [1], [1, 1])
    v1.feature_column.input_layer({"tags": tags}, [v1.feature_column.embedding_column(column, 16)])
    plan = rewrite(graph)
    assert str(plan.tables[0].new_rows) == "truncated_normal(0, 0.25)"
    assert "new ids start as truncated_normal(0, 0.25)" in plan.summary()


@pytest.mark.parametrize(
    ("initializer", "reason"),
    [
        (
            lambda shape, **_: tf.exp(tf.random.normal(shape), name="powers"),
            "powers` has no known distribution: it is Exp",
        ),
        (
            lambda shape, **_: tf.random.normal(shape) * tf.random.normal(shape),
            "neither of its inputs is a constant number",
        ),
        (v1.constant_initializer(np.arange(ROWS * DIM)), "it is a constant array of rows"),
    ],
    ids=["exponents", "product", "array"],
)
def test_new_rows_of_an_unknown_start_are_zeros_and_the_plan_says_so(initializer: Any, reason: str) -> None:
    rows, table = _start(initializer, np.arange(ROWS, ROWS + 5), True)
    assert not rows.any()
    assert table is not None
    assert reason in table.new_rows.assumption
    with tf.Graph().as_default() as graph:
        v1.nn.embedding_lookup(v1.get_variable("user", [ROWS, DIM], initializer=initializer), [1])
        plan = rewrite(graph, dry_run=True)
    assert f"new ids start as 0 (assumed: {table.new_rows.assumption})" in plan.summary()
    assert '"assumption": "`' in plan.to_json()


def test_new_ids_train(graph: tf.Graph) -> None:
    table = v1.get_variable("user", [ROWS, DIM], initializer=v1.random_uniform_initializer(1, 2))
    ids = v1.placeholder(tf.int64, [None])
    rows = v1.nn.embedding_lookup(table, ids)
    step = v1.train.GradientDescentOptimizer(0.5).minimize(tf.reduce_sum(rows))
    rewrite(graph)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        before = session.run(rows, {ids: [ROWS + 7]})
        session.run(step, {ids: [ROWS + 7]})
        np.testing.assert_allclose(session.run(rows, {ids: [ROWS + 7]}), before - 0.5, rtol=1e-6)
        assert (before >= 1).all()
