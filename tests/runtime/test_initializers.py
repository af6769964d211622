"""TensorFlow and Keras initializer objects become the native text; seeds decide the values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.initializers import column_blocks, initializer_text
from tests.support.runtime.tables import make_table, rows_of, session

v1, keras = tf.compat.v1, tf.keras.initializers
_CUT = 0.87962566103423978  # standard deviation of the unit normal cut at 2


@pytest.mark.parametrize(
    ("initializer", "kind", "a", "b"),
    [
        (v1.constant_initializer(0.5), "constant", 0.5, 0),
        (tf.constant_initializer(2), "constant", 2, 0),
        (keras.Constant(0.5), "constant", 0.5, 0),
        (v1.zeros_initializer(), "constant", 0, 0),
        (tf.zeros_initializer, "constant", 0, 0),
        (keras.Ones(), "constant", 1, 0),
        (v1.random_uniform_initializer(), "uniform", 0, 1),
        (tf.random_uniform_initializer(), "uniform", -0.05, 0.05),
        (keras.RandomUniform(-1, 3), "uniform", -1, 3),
        (v1.random_normal_initializer(1, 2), "normal", 1, 2),
        (tf.random_normal_initializer(), "normal", 0, 0.05),
        (keras.RandomNormal(stddev=0.1), "normal", 0, 0.1),
        (v1.truncated_normal_initializer(stddev=0.1), "truncated_normal", 0, 0.1),
        (keras.TruncatedNormal(0.5), "truncated_normal", 0.5, 0.05),
        (v1.uniform_unit_scaling_initializer(2.0), "uniform", -2 * (3 / 100) ** 0.5, 2 * (3 / 100) ** 0.5),
        (v1.glorot_uniform_initializer(), "uniform", -((6 / 116) ** 0.5), (6 / 116) ** 0.5),
        (keras.GlorotNormal(), "truncated_normal", 0, (2 / 116) ** 0.5 / _CUT),
        (keras.HeUniform(), "uniform", -((6 / 100) ** 0.5), (6 / 100) ** 0.5),
        (v1.keras.initializers.he_normal(), "truncated_normal", 0, (2 / 100) ** 0.5 / _CUT),
        (v1.variance_scaling_initializer(3.0, "fan_out", "untruncated_normal"), "normal", 0, (3 / 16) ** 0.5),
    ],
)
def test_parameters(initializer: Any, kind: str, a: float, b: float) -> None:
    width, name, first, second = initializer_text(initializer, rows=100, dim=16).split(":")
    assert (width, name) == ("16", kind)
    np.testing.assert_allclose([float(first), float(second)], [a, b], rtol=1e-12)


def test_column_blocks() -> None:
    blocks = column_blocks([(2, v1.ones_initializer()), (np.int64(3), v1.random_normal_initializer(stddev=0.5))])
    assert initializer_text(blocks, 1, 5) == "2:constant:1.0:0.0;3:normal:0.0:0.5"


class _Unknown(keras.Initializer):  # type: ignore[misc]
    def __call__(self, shape: Any, dtype: Any = None, **kwargs: Any) -> tf.Tensor:
        return tf.zeros(shape)


@pytest.mark.parametrize(
    ("initializer", "message"),
    [
        (v1.constant_initializer([1.0, 2.0]), r"shape \(2,\)"),
        (v1.orthogonal_initializer(), "cannot initialize rows by key"),
        (keras.Identity(), "cannot initialize rows by key"),
        (_Unknown(), "cannot initialize rows by key"),
        (lambda shape: tf.zeros(shape), "cannot initialize rows by key"),
        (v1.random_normal_initializer(stddev=-1.0), "RandomNormal: the standard deviation -1.0 is negative"),
        (v1.random_uniform_initializer(1.0, -1.0), "RandomUniform: the upper limit -1.0 is below the lower limit 1.0"),
        (v1.random_normal_initializer(float("nan")), "RandomNormal: nan is not a float32 number"),
        (v1.constant_initializer(1e300), "Constant: 1e[+]300 is not a float32 number"),
        (column_blocks([(4, v1.truncated_normal_initializer(stddev=-1.0))]), "TruncatedNormal: the standard deviation"),
        (column_blocks([(2, v1.zeros_initializer())]), "widths sum to 2 but the table's dim is 4"),
        (column_blocks([(4, keras.GlorotUniform())]), "VarianceScaling inside column_blocks has no fan"),
    ],
)
def test_refuses(initializer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        initializer_text(initializer, 1, 4)


@pytest.mark.parametrize("blocks", [[], [(0, v1.zeros_initializer())], [(True, v1.zeros_initializer())]])
def test_column_blocks_refuses(blocks: Any) -> None:
    with pytest.raises(ValueError, match="widths of at least 1"):
        column_blocks(blocks)


@pytest.mark.parametrize(
    ("initializer", "mean", "deviation", "low", "high"),
    [
        (v1.random_uniform_initializer(-1.0, 3.0, seed=1), 1.0, 4 / 12**0.5, -1.0, 3.0),
        (v1.random_normal_initializer(1.0, 2.0, seed=1), 1.0, 2.0, -9.0, 11.0),
        (v1.truncated_normal_initializer(1.0, 2.0, seed=1), 1.0, 2.0 * _CUT, -3.0, 5.0),
    ],
)
@pytest.mark.usefixtures("graph")
def test_values_have_the_distribution(initializer: Any, mean: float, deviation: float, low: float, high: float) -> None:
    table = make_table(dim=16, initializer=initializer)
    with session() as opened:
        values = rows_of(opened, table, range(10_000))
    np.testing.assert_allclose([values.mean(), values.std()], [mean, deviation], atol=0.02)
    assert low <= values.min() < values.max() <= high


def _row(initializer: Any, name: str = "user", graph_seed: int | None = None) -> bytes:
    with tf.Graph().as_default():
        v1.set_random_seed(graph_seed)
        table = make_table(name, initializer=initializer)
        with session() as opened:
            return bytes(rows_of(opened, table, [42]).tobytes())


def test_seeds() -> None:
    def unseeded() -> Any:
        return v1.random_normal_initializer()

    seeded = v1.random_normal_initializer(seed=5)
    assert _row(seeded) == _row(v1.random_normal_initializer(seed=5)) == _row(keras.RandomNormal(stddev=1.0, seed=5))
    assert _row(unseeded(), graph_seed=9) == _row(unseeded(), graph_seed=9)
    # numpy's integers print differently from one numpy to the next
    assert _row(seeded) == _row(v1.random_normal_initializer(seed=np.int64(5)))
    assert _row(unseeded(), graph_seed=9) == _row(unseeded(), graph_seed=np.int32(9))
    different = [_row(unseeded()), _row(unseeded()), _row(seeded), _row(seeded, "item"), _row(seeded, graph_seed=9)]
    different += [_row(unseeded(), graph_seed=9), _row(unseeded(), graph_seed=8)]
    assert len(set(different)) == len(different)
