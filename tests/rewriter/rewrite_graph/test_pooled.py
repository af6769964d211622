"""embedding_lookup_sparse, its safe form and feature columns, moved: the losses of the stock model."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from tests.support.rewriter.compare import DIM, ROWS, assert_same, head, variable

v1 = tf.compat.v1
LOOKUPS: dict[str, Callable[..., Any]] = {
    "v1": v1.nn.embedding_lookup_sparse,
    "v1_safe": v1.nn.safe_embedding_lookup_sparse,
    "v2": tf.nn.embedding_lookup_sparse,
    "v2_safe": tf.nn.safe_embedding_lookup_sparse,
    "v1_norm": lambda *given, **further: v1.nn.embedding_lookup_sparse(*given, max_norm=0.4, **further),
}
OPTIMIZERS = {"adagrad": lambda: v1.train.AdagradOptimizer(0.1), "adam": lambda: v1.train.AdamOptimizer(0.01)}


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("weighted", [True, False], ids=["weights", "plain"])
@pytest.mark.parametrize("combiner", ["sum", "mean", "sqrtn"])
@pytest.mark.parametrize("lookup", LOOKUPS)
@pytest.mark.one_case
def test_a_pooled_lookup_trains_as_before(lookup: str, combiner: str, weighted: bool, use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        weights = features["weights"] if weighted else None
        pooled = LOOKUPS[lookup](variable(use_resource=use_resource), features["tags"], weights, combiner=combiner)
        return head(pooled, labels, OPTIMIZERS["adam" if combiner == "mean" else "adagrad"]())

    assert_same(build, "user")


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.one_case
def test_a_fast_lookup_moves_where_its_gradient_is_sparse(use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        table, tags = variable(use_resource=use_resource), features["tags"]
        pooled = tf.nn.embedding_lookup_sparse(table, tags, None, combiner="sum", allow_fast_lookup=True)
        return head(pooled, labels, OPTIMIZERS["adam"]())

    if use_resource:
        assert_same(build, "user")
    else:
        assert "SparseSegmentSumGrad is neither the gradient of a lookup" in str(assert_same(build).refusals[0])


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.one_case
def test_shared_embedding_columns_train_as_before(optimizer: str) -> None:
    def build(features: Any, labels: Any) -> Any:
        tags, more = (v1.feature_column.categorical_column_with_identity(name, ROWS) for name in ("tags", "more"))
        columns = v1.feature_column.shared_embedding_columns([tags, more], DIM)
        return head(v1.feature_column.input_layer(features, columns), labels, OPTIMIZERS[optimizer]())

    plan = assert_same(build, "input_layer/more_tags_shared_embedding/embedding_weights")
    assert len(plan.tables[0].lookups) == 2
