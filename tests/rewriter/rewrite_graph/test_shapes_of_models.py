"""Models in the many forms that people write: what moves, and that it trains to the numbers of the stock model."""

from __future__ import annotations

from typing import Any

import pytest
import tensorflow as tf

from tests.support.rewriter.compare import DIM, ROWS, assert_same, head, loss_of, variable

v1 = tf.compat.v1


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.one_case
def test_clipping_by_global_norm_and_a_rate_that_decays(use_resource: bool) -> None:
    def build(features: Any, labels: Any) -> Any:
        loss = loss_of(_flat(v1.nn.embedding_lookup(variable(use_resource=use_resource), features["ids"])), labels)
        step = v1.train.get_or_create_global_step()
        optimizer = v1.train.AdamOptimizer(v1.train.exponential_decay(0.02, step, 5, 0.8))
        gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
        clipped, _ = tf.clip_by_global_norm(gradients, 0.1)
        return loss, optimizer.apply_gradients(zip(clipped, variables, strict=True), step)

    assert_same(build, "user")


@pytest.mark.skipif(not hasattr(v1.keras.layers, "Embedding"), reason="Keras 3 has no layers for v1 graphs")
def test_a_keras_layer_in_a_graph() -> None:
    def build(features: Any, labels: Any) -> Any:
        layer = v1.keras.layers.Embedding(ROWS, DIM, v1.random_normal_initializer(stddev=0.3), name="layer")
        return head(_flat(layer(features["ids"])), labels, v1.train.AdagradOptimizer(0.1))

    assert_same(build, "layer/embeddings")
