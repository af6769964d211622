"""Embeddings as tables: when rows begin, what the padding id reads and saves, and what `weight` refuses."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from runtime import nn
from runtime.optimizers import gradient_descent

v1 = tf.compat.v1


def started() -> v1.Session:
    session = v1.Session()
    session.run(v1.global_variables_initializer())
    return session


@pytest.mark.usefixtures("graph")
def test_rows_begin_in_training_and_not_in_evaluation() -> None:
    layer = nn.Embedding(10, 3, weight_attr=nn.initializer.Uniform(1.0, 2.0))
    layer.build("m")
    layer.eval()
    reads = layer(tf.constant([[1, 2]]))
    layer.train()
    trains = layer(tf.constant([2, 3], tf.int64))
    assert (reads.shape, trains.shape) == ([1, 2, 3], [2, 3])
    size = layer.weight.table.size()
    with started() as session:
        before = session.run(reads)
        assert session.run(size) == 0 and (before >= 1).all()
        rows = session.run(trains)
        assert session.run(size) == 2
        np.testing.assert_array_equal(rows[0], before[0, 1])


@pytest.mark.usefixtures("graph")
@pytest.mark.parametrize("padding", [-2, 3])
@pytest.mark.parametrize("table", [True, False])
@pytest.mark.each_case
def test_the_padding_row_is_zero_and_stays_zero(padding: int, table: bool) -> None:
    layer = nn.Embedding(5, 2, padding_idx=padding, table=table)
    layer.build("m")
    ids = tf.constant([[3, 1], [3, 4]])
    rows = layer(ids)
    gradient = tf.gradients(rows, layer.weight.variable)[0]
    with started() as session:
        values, slices = session.run([rows, gradient])
        saved = nn.read_weights(layer, session)["weight"]
        nn.load_weights(layer, {"weight": np.full([5, 2], 3.0)}, session)
        loaded = session.run(rows)
        again = nn.read_weights(layer, session)["weight"]
        if table:
            keys, stored = session.run(layer.weight.table.snapshot()[:2])
            assert sorted(keys) == [0, 1, 2, 3, 4] and not stored[list(keys).index(3)].any()
    assert not values[:, 0].any() and not loaded[:, 0].any() and values[:, 1].all()
    assert slices.values.tolist() == [[0, 0], [1, 1], [0, 0], [1, 1]] and slices.indices.tolist() == [3, 1, 3, 4]
    assert not saved[3].any() and saved[[0, 1, 2, 4]].all()
    assert (again[[0, 1, 2, 4]] == 3).all() and (not again[3].any() or not table)


@pytest.mark.usefixtures("graph")
def test_the_padding_row_is_saved_as_zero(tmp_path: Path) -> None:
    layer = nn.Embedding(5, 2, padding_idx=0)
    layer.build("m")
    loss = tf.reduce_sum(layer(tf.constant([0, 1])) + 1)
    optimizer = gradient_descent.create_hash_optimizer(0.5)
    step = optimizer.apply_gradients([(tf.gradients(loss, layer.weight.variable)[0], layer.weight.variable)])
    saver = v1.train.Saver()
    with started() as session:
        session.run(step)
        path = saver.save(session, str(tmp_path / "model"))
    reader = tf.train.load_checkpoint(path)
    keys, values = (reader.get_tensor(f"m_weight-{part}") for part in ("keys", "values"))
    assert sorted(keys.tolist()) == [0, 1] and not values[keys.tolist().index(0)].any()


@pytest.mark.usefixtures("graph")
def test_given_rows_are_there_from_the_start() -> None:
    values = np.arange(8, dtype=np.float64).reshape(4, 2) + 1
    layers = [
        nn.Embedding(4, 2, padding_idx=1, table=table, weight_attr=nn.initializer.Assign(values))
        for table in (True, False)
    ]
    holder = nn.LayerList(layers)
    holder.build("m")
    rows = [layer(tf.range(4)) for layer in layers]
    with started() as session:
        found = session.run(rows)
        session.run(v1.global_variables_initializer())
        again = session.run(rows)
        keys, stored = session.run(layers[0].weight.table.snapshot()[:2])
    values[1] = 0
    for one in (*found, *again, stored[np.argsort(keys)]):
        np.testing.assert_array_equal(one, values)


@pytest.mark.usefixtures("graph")
def test_the_matrix_of_a_table_is_refused() -> None:
    layer = nn.Embedding(4, 2)
    layer.build("m")
    for act in (
        lambda w: w + 1.0,
        lambda w: tf.ones([1, 2]) * w,
        lambda w: w[0],
        lambda w: tf.matmul(w, tf.ones([2, 1])),
        lambda w: tf.transpose(w),
        list,
    ):
        with pytest.raises(ValueError, match=r"`weight` is a table, .* nn.Embedding\(..., table=False\)"):
            act(layer.weight)
