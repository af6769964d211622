"""`tf.contrib.layers` over TensorFlow 2: values compared with numpy and with TensorFlow's own layers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import contrib_layers, mx_rec

v1 = tf.compat.v1
RANDOM = np.random.default_rng(3)


def evaluated(build: Any, *feeds: Any) -> tuple[Any, dict[str, Any]]:
    """Return what `build(*inputs)` comes to in a fresh graph, and its variables after it."""
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(1)
        made = build(*(tf.constant(feed, tf.float32) for feed in feeds))
        session.run(v1.global_variables_initializer())
        before = {
            one.op.name: value
            for one, value in zip(v1.global_variables(), session.run(v1.global_variables()), strict=True)
        }
        result = session.run(made)
        after = dict(zip(before, session.run(v1.global_variables()), strict=True))
        return result, {"before": before, "after": after}


@pytest.mark.parametrize("shape", [(4, 5), (4, 3, 5)])
@pytest.mark.parametrize("activation", [tf.nn.relu, None])
def test_fully_connected(shape: tuple[int, ...], activation: Any) -> None:
    inputs = RANDOM.normal(size=shape).astype(np.float32)
    settings = {} if activation is tf.nn.relu else {"activation_fn": None}
    biases = v1.constant_initializer(0.25)
    found, seen = evaluated(
        lambda x: contrib_layers.fully_connected(x, 7, scope="mlp0", biases_initializer=biases, **settings), inputs
    )
    weights = seen["before"]["mlp0/weights"]
    expected = inputs @ weights + seen["before"]["mlp0/biases"]
    np.testing.assert_allclose(found, np.maximum(expected, 0) if activation else expected, rtol=1e-5, atol=1e-6)
    assert sorted(seen["before"]) == ["mlp0/biases", "mlp0/weights"]
    assert abs(weights).max() <= np.sqrt(6 / (5 + 7)) and weights.std() > 0.3


def test_fully_connected_with_a_normalizer_or_without_biases_has_none() -> None:
    def build(x: Any) -> Any:
        one = contrib_layers.fully_connected(x, 2, normalizer_fn=contrib_layers.batch_norm, scope="a")
        return contrib_layers.fully_connected(one, 2, biases_initializer=None, scope="b")

    _, seen = evaluated(build, RANDOM.normal(size=(4, 3)))
    names = ["a/BatchNorm/beta", "a/BatchNorm/moving_mean", "a/BatchNorm/moving_variance", "a/weights", "b/weights"]
    assert sorted(seen["before"]) == names


def test_regularizers_add_to_the_losses_of_the_graph() -> None:
    def build(x: Any) -> Any:
        one = contrib_layers.l1_regularizer(1e-2)
        contrib_layers.fully_connected(x, 2, scope="a", weights_regularizer=one)
        contrib_layers.fully_connected(x, 2, scope="b", weights_regularizer=contrib_layers.l2_regularizer(0.5))
        contrib_layers.fully_connected(x, 2, scope="c", weights_regularizer=contrib_layers.l1_regularizer(0.0))
        return v1.get_collection(v1.GraphKeys.REGULARIZATION_LOSSES)

    found, seen = evaluated(build, np.ones([1, 3]))
    weights = seen["before"]
    expected = [1e-2 * abs(weights["a/weights"]).sum(), 0.25 * (weights["b/weights"] ** 2).sum()]
    np.testing.assert_allclose(found, expected, rtol=1e-6)
    for bad in (1, -0.5, "x"):
        with pytest.raises(ValueError, match="`scale` of l1_regularizer"):
            contrib_layers.l1_regularizer(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_asks_a_tensor_whether_it_trains(training: bool) -> None:
    inputs = RANDOM.normal(size=(6, 3)).astype(np.float32)

    def build(x: Any) -> Any:
        is_training = v1.placeholder_with_default(training, [])
        return contrib_layers.batch_norm(x, is_training=is_training, updates_collections=None)

    found, seen = evaluated(build, inputs)
    fixed, _ = evaluated(lambda x: contrib_layers.batch_norm(x, is_training=training), inputs)
    np.testing.assert_allclose(found, fixed, rtol=1e-6)
    assert (seen["after"]["BatchNorm/moving_mean"] != 0).all() == training


def test_the_normal_xavier_initializer() -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        values = session.run(contrib_layers.xavier_initializer(uniform=False, seed=1)([400, 300], tf.float32))
    cut = np.sqrt(1.3 * 2 / 700)
    assert abs(values).max() <= 2 * cut + 1e-6 and values.std() == pytest.approx(0.87962566 * cut, rel=0.01)


def test_what_is_not_there_says_so() -> None:
    mx_rec.install()
    try:
        from tensorflow import contrib  # type: ignore[attr-defined]

        assert contrib.layers.fully_connected is contrib_layers.fully_connected
        assert v1.contrib is contrib
        with pytest.raises(AttributeError, match=r"contrib.layers.embed_sequence is not .*compat.mx_rec: use"):
            _ = contrib.layers.embed_sequence
    finally:
        mx_rec.uninstall()
    assert not hasattr(tf, "contrib")
    inputs = tf.ones([2, 3])
    for call in (
        lambda: contrib_layers.batch_norm(inputs, renorm=True),
        lambda: contrib_layers.batch_norm(inputs, data_format="NCHW"),
        lambda: contrib_layers.fully_connected(tf.ones([2]), 3),
        lambda: contrib_layers.fully_connected(inputs, 0),
    ):
        with tf.Graph().as_default(), pytest.raises(ValueError):
            call()
