"""Normalizations beside Paddle's: values and gradients, and the running values of several steps."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import paddle
import pytest
import tensorflow as tf

from runtime import nn
from tests.support.paddle.layers import compare_each
from tests.support.paddle.twins import weights_of
from tests.support.paths import ROOT

v1 = tf.compat.v1
pytestmark = [pytest.mark.paddle, pytest.mark.one_version, pytest.mark.filterwarnings("ignore:When training")]

RANDOM = np.random.default_rng(7)
ROWS = RANDOM.normal(1.0, 2.0, (6, 3)).astype(np.float32)
SEQUENCES = RANDOM.normal(1.0, 2.0, (4, 3, 5)).astype(np.float32)
LAST = RANDOM.normal(1.0, 2.0, (4, 5, 3)).astype(np.float32)
IMAGES = RANDOM.normal(1.0, 2.0, (4, 3, 5, 2)).astype(np.float32)
IMAGES_LAST = RANDOM.normal(1.0, 2.0, (4, 5, 2, 3)).astype(np.float32)
ROW, POINT = ROWS[:1], IMAGES[:1, :, :1, :1]
INPUTS = (ROWS, SEQUENCES, LAST, IMAGES, IMAGES_LAST, ROW, POINT)


def layer(kind: str, *arguments: Any, **named: Any) -> Any:
    return lambda of: getattr(of, kind)(*arguments, **named)


CASES = [
    (layer("BatchNorm1D", 3), 0),
    (layer("BatchNorm1D", 3, data_format="NLC"), 2),
    (layer("BatchNorm1D", 3, 0.5, 1e-2, data_format="NC"), 0),
    (layer("BatchNorm1D", 3, weight_attr=False, bias_attr=False), 1),
    (layer("BatchNorm2D", 3), 3),
    (layer("BatchNorm2D", 3, data_format="NHWC"), 4),
    (layer("BatchNorm", 3, act="sigmoid", data_layout="NHWC"), 2),
    (layer("BatchNorm", 3, use_global_stats=True, param_attr=False), 1),
    (layer("BatchNorm1D", 3), 5),  # one element in each channel: returned as it is while training
    (layer("LayerNorm", 3, 1e-8), 2),
    (layer("LayerNorm", [3, 5]), 1),
    (layer("InstanceNorm1D", 3), 1),
    (layer("InstanceNorm1D", 5, data_format="NLC"), 2),
    (layer("InstanceNorm2D", 3, weight_attr=False, bias_attr=False), 3),
]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.each_case
def test_values_and_gradients(training: bool) -> None:
    compare_each(CASES, *INPUTS, training=training)


RUNNING = [
    (layer("BatchNorm1D", 3), 0, True),
    (layer("BatchNorm2D", 3, data_format="NHWC"), 4, True),
    (layer("BatchNorm1D", 3), 5, True),
    (layer("BatchNorm2D", 3), 6, True),
    (layer("BatchNorm1D", 3, use_global_stats=False), 5, False),
    (layer("BatchNorm", 3, is_test=True, momentum=0.7), 3, True),
    (layer("BatchNorm", 3, use_global_stats=True), 0, True),
    (layer("BatchNorm1D", 3, use_global_stats=False), 0, False),
    (layer("BatchNorm", 3, trainable_statistics=True), 0, False),
]


def test_running_values_over_steps() -> None:
    """The updates of UPDATE_OPS in each step; a layer that is called twice is updated twice, one after the other."""
    batches = [[RANDOM.normal(step, 1 + step, one.shape).astype(np.float32) for one in INPUTS] for step in range(3)]
    theirs = [make(paddle.nn) for make, _, _ in RUNNING]
    with tf.Graph().as_default(), v1.Session() as session:
        ours = [make(nn) for make, _, _ in RUNNING]
        tensors = [v1.placeholder(tf.float32, [None, *one.shape[1:]]) for one in INPUTS]
        outputs, twice = [], []
        for number, (one, (_, of, training)) in enumerate(zip(ours, RUNNING, strict=True)):
            for each in (one, theirs[number]):
                each.train() if training else each.eval()
            one.build(f"layer_{number}")
            outputs.append(one(tensors[of]))
            twice.append(one(tensors[of] * 2.0 + 1.0))
        updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        assert len(updates) == 4 * 8
        session.run(v1.global_variables_initializer())
        for one, other in zip(ours, theirs, strict=True):
            nn.load_weights(one, weights_of(other), session)
        for batch in batches:
            found, again = session.run([outputs, twice, updates], dict(zip(tensors, batch, strict=True)))[:2]
            running = session.run([[one._mean.variable, one._variance.variable] for one in ours])
            for number, (other, (_, of, _)) in enumerate(zip(theirs, RUNNING, strict=True)):
                first = other(paddle.to_tensor(batch[of])).numpy()
                second = other(paddle.to_tensor(batch[of] * 2.0 + 1.0)).numpy()
                np.testing.assert_allclose(found[number], first, rtol=1e-4, atol=1e-5)
                np.testing.assert_allclose(again[number], second, rtol=1e-4, atol=1e-5)
                expected = [other._mean.numpy(), other._variance.numpy()]
                np.testing.assert_allclose(running[number], expected, rtol=1e-5, atol=1e-6, err_msg=str(number))


def test_evaluation_shares_the_running_values() -> None:
    """A training graph and an evaluation graph of one layer: the second has no updates."""
    with tf.Graph().as_default(), v1.Session() as session:
        one = nn.BatchNorm1D(3, 0.5)
        one.build("m")
        one(ROWS)
        updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS)
        one.eval()
        out = one(ROWS)
        assert v1.get_collection(v1.GraphKeys.UPDATE_OPS) == updates
        assert [weight.trainable for weight in one.parameters()] == [True, True, False, False]
        session.run(v1.global_variables_initializer())
        np.testing.assert_allclose(session.run(out), ROWS, rtol=1e-4)
        session.run(updates)
        expected = (ROWS - ROWS.mean(0) / 2) / np.sqrt(0.5 + ROWS.var(0) / 2)
        np.testing.assert_allclose(session.run(out), expected, rtol=1e-4, atol=1e-4)


def test_sums_of_many_elements_keep_their_digits() -> None:
    """128 images of 32 by 32 have 131072 elements in each channel, more than one float32 sum can add."""
    x = np.random.RandomState(1).normal(1.0, 2.0, (128, 2, 32, 32)).astype(np.float32)
    wide = x.astype(np.float64)
    mean, variance = wide.mean((0, 2, 3)), wide.var((0, 2, 3))
    normal = (wide - mean[:, None, None]) / np.sqrt(variance[:, None, None] + 1e-5)
    upstream = (normal + 1.0).astype(np.float32)  # with sums that do not cancel out
    expected = [0.1 * mean, 0.9 + 0.1 * variance, (upstream * normal).sum((0, 2, 3)), upstream.sum((0, 2, 3))]
    with tf.Graph().as_default(), v1.Session() as session:
        norm, conv = nn.BatchNorm2D(2), nn.Conv2D(2, 2, 1)
        norm.build("norm")
        conv.build("conv")
        weights = [norm.weight.variable, norm.bias.variable]
        found = tf.gradients(norm(tf.constant(x)), weights, upstream)
        found += tf.gradients(conv(tf.constant(x)), [conv.bias.variable], upstream)
        session.run(v1.global_variables_initializer())
        gradients, _ = session.run((found, v1.get_collection(v1.GraphKeys.UPDATE_OPS)))
        running = session.run([norm._mean.variable, norm._variance.variable])
    for got, wanted in zip([*running, *gradients], [*expected, expected[-1]], strict=True):
        np.testing.assert_allclose(got, wanted, rtol=1e-6)


EVALUATED = """
import numpy as np
import tensorflow as tf
from runtime import nn

v1 = tf.compat.v1
with tf.Graph().as_default(), v1.Session() as session:
    x = v1.placeholder(tf.float32, [None, 3, 4, 4])
    results = []
    for number, layer in enumerate((nn.LayerNorm([4, 4]), nn.LayerNorm([3, 4, 4]), nn.InstanceNorm2D(3))):
        model = nn.Sequential(layer)
        model.build(f"model_{number}")
        model.eval()
        results.append(tf.nn.relu(model(tf.nn.relu(x))))
    session.run(v1.global_variables_initializer())
    print(len([session.run(results, {x: np.ones([2, 3, 4, 4])}) for _ in range(2)]))
"""


def test_norms_over_several_dimensions_evaluate_in_optimized_graphs() -> None:
    """The remapper of TensorFlow 2.15 ends the process where it takes one for an instance norm of constants."""
    run = subprocess.run([sys.executable, "-c", EVALUATED], capture_output=True, text=True, check=False, cwd=ROOT)
    assert run.stdout.split() == ["2"], run.stderr[-1000:]
