"""Layers over one-hot inputs: the rows of numbers and those of a table make what the whole weight makes."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from runtime import create_table, nn, sparse_lookup
from runtime.nn import one_hot

v1 = tf.compat.v1
NUMBERS, ROWS = 2, 5  #: columns that are numbers, and one-hot columns of groups of 3 and 2


class Model(nn.Layer):
    """Two layers that read the input, one that does not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(NUMBERS + ROWS, 3, weight_attr=nn.initializer.Constant(0.5))
        self.second = nn.Linear(NUMBERS + ROWS, 3, bias_attr=False)
        self.last = nn.Linear(3, 1)
        self.readers = [self.second, self.first]

    def forward(self, x: one_hot.Input) -> tf.Tensor:
        return self.last(self.first(x) * self.second(x))


def test_the_table_and_the_rows_of_numbers_make_the_whole_product() -> None:
    rng = np.random.default_rng(1)
    dense, keys = rng.normal(size=(4, NUMBERS)).astype(np.float32), np.array([[0, 3], [2, 4], [1, 3], [2, 3]])
    whole = np.zeros((4, NUMBERS + ROWS), np.float32)
    whole[:, :NUMBERS] = dense
    for column in keys.T:
        whole[np.arange(4), NUMBERS + column] = 1.0
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model()
        assert one_hot.side_by_side(model, model.readers, NUMBERS) == 6
        assert one_hot.placed(model.readers) == {"second": slice(0, 3), "first": slice(3, 6)}
        table = create_table(tf.int64, 6, "rows", one_hot.initializer(model.readers))
        model.build("model")
        rows = sparse_lookup(table, tf.constant(keys))
        out = model(one_hot.Input(tf.constant(dense), tf.reduce_sum(rows, 1)))
        session.run(v1.global_variables_initializer())
        number, rest, last = session.run([layer.weight.tensor() for layer in (model.first, model.second, model.last)])
        kernels = session.run(sparse_lookup(table, tf.range(ROWS, dtype=tf.int64), is_train=False))
        first, second = np.vstack([number, kernels[:, 3:]]), np.vstack([rest, kernels[:, :3]])
        assert number.shape == (NUMBERS, 3) and (first == 0.5).all()
        np.testing.assert_allclose(session.run(out), ((whole @ first) * (whole @ second)) @ last, rtol=1e-5, atol=1e-6)
        limit = np.sqrt(6.0 / (NUMBERS + ROWS + 3))
        assert model.second.weight.whole.maxval == pytest.approx(limit), "the fan is that of the whole weight"
