"""Lookups of other forms: pooled, products with a sparse matrix, padded copies, rows of any shape."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import prove, rewrite
from tests.support.rewriter.compare import BATCH, DIM, ROWS, Inputs, assert_same, head, loss_of, step_after, variable

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


def _matrix(features: Any) -> tf.SparseTensor:
    """Return the sparse matrix [BATCH, ROWS] of the tags and their weights; tags may come twice in an example."""
    tags = features["tags"]
    indices = tf.stack([tags.indices[:, 0], tags.values], 1)
    return tf.SparseTensor(indices, features["weights"].values, [BATCH, ROWS])


def test_it_is_proven_and_its_result_can_be_fetched() -> None:
    def build() -> tuple[Any, Any]:
        inputs = Inputs.make()
        rows = tf.sparse.sparse_dense_matmul(_matrix(inputs.features), variable())
        loss = loss_of(rows, inputs.labels)
        return loss, step_after(loss, v1.train.AdagradOptimizer(0.1))

    with tf.Graph().as_default():
        inputs = Inputs.make()
        names = {one.name.removesuffix(":0"): one for one in (*_placeholders(inputs), inputs.labels)}
        feeds = [{name: _value(feed, one) for name, one in names.items()} for feed in inputs.feeds(5)]
    proof = prove(build, feeds, steps=5)
    assert proof.ok, proof.summary()
    assert "updated ids" in proof.summary()
    assert "rows looked up" in proof.summary()


def _placeholders(inputs: Inputs) -> list[Any]:
    sparse = [inputs.features[name] for name in ("tags", "weights")]
    return [part for one in sparse for part in (one.indices, one.values, one.dense_shape)]


def _value(feed: Any, tensor: Any) -> Any:
    for given, value in feed.items():
        if isinstance(given, tf.SparseTensor):
            for name in ("indices", "values", "dense_shape"):
                if getattr(given, name) is tensor:
                    return getattr(value, name)
        elif given is tensor:
            return value
    raise KeyError(tensor)


def _padded(table: Any) -> Any:
    return tf.concat([tf.zeros([1, DIM]), table[1:]], 0)


def test_the_row_of_the_pad_stays_as_it_began() -> None:
    with tf.Graph().as_default():
        table = variable()
        rows = tf.identity(v1.nn.embedding_lookup(_padded(table), v1.placeholder(tf.int64, [None], "ids")))
        own = tf.identity(v1.nn.embedding_lookup(table, tf.constant([0], tf.int64)))
        step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
        start = v1.global_variables_initializer()
        assert [one.name for one in rewrite().tables] == ["user"]
        with v1.Session() as session:
            session.run(start)
            before = session.run(own)
            for _ in range(3):
                session.run(step, {"ids:0": [0, 1, 0]})
            found = session.run(rows, {"ids:0": [0, 1]})
            assert not found[0].any()
            assert found[1].all()
            np.testing.assert_array_equal(session.run(own), before)
            assert before.any()


@pytest.mark.parametrize(
    ("padding", "more"),
    [
        (lambda table: tf.concat([tf.zeros([1, DIM]), table[::2]], 0), None),
        (_padded, lambda table, whole, ids: tf.one_hot(ids[:, 0], ROWS) @ tf.tanh(whole)),
        (_padded, lambda table, whole, ids: tf.tile(tf.reduce_sum(whole * whole)[None, None], [16, 1])),
        (_padded, lambda table, whole, ids: tf.gather_nd(whole, tf.stack([ids, ids % DIM], -1))),
    ],
    ids=["strided", "product", "sum", "elements"],
)
def test_what_is_no_padded_copy_stays(padding: Any, more: Any) -> None:
    with tf.Graph().as_default():
        inputs = Inputs.make()
        table, ids = variable(), inputs.features["ids"]
        whole = padding(table)
        rows = [tf.reshape(v1.nn.embedding_lookup(whole, one), [-1, 3 * DIM]) for one in (ids, ids // 2)]
        rows += [more(table, whole, ids)] if more else []
        step_after(loss_of(tf.concat(rows, 1), inputs.labels), v1.train.AdagradOptimizer(0.1))
        plan = rewrite()
        assert not plan.tables
        assert "StridedSlice" in plan.summary() or "`strided_slice`" in plan.summary()


_OPTIMIZERS: dict[str, Callable[[], Any]] = {
    "sgd": lambda: v1.train.GradientDescentOptimizer(0.1),
    "momentum": lambda: v1.train.MomentumOptimizer(0.05, 0.9),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.1),
    "adam": lambda: v1.train.AdamOptimizer(0.02),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
}


def _shaped(row: tuple[int, ...], use_resource: bool) -> Any:
    starts = v1.random_normal_initializer(stddev=0.3)
    return v1.get_variable("bias", [ROWS, *row], initializer=starts, use_resource=use_resource)


def _model(
    row: tuple[int, ...],
    use_resource: bool = True,
    optimizer: str = "adagrad",
    lookup: Callable[[Any, Any], Any] = tf.gather,
) -> Callable[[Any, Any], tuple[Any, Any]]:
    def build(features: Any, labels: Any) -> tuple[Any, Any]:
        bias, ids = _shaped(row, use_resource), features["ids"]
        rows = tf.reshape(lookup(bias, ids), [-1, 3 * int(np.prod(row))])
        user = tf.reshape(v1.nn.embedding_lookup(variable(use_resource=use_resource), ids), [-1, 3 * DIM])
        return head(tf.concat([rows, user], 1), labels, _OPTIMIZERS[optimizer]())

    return build


def _nested(table: Any, ids: Any) -> Any:
    return tf.gather_nd(table, ids[:, :, None])


def _flat(table: Any, ids: Any) -> Any:
    return tf.gather_nd(table, tf.reshape(ids, [-1, 1]))


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("lookup", [_nested, _flat])
@pytest.mark.parametrize(("row", "optimizer"), [((DIM,), "sgd"), ((), "adam"), ((2, 3), "adagrad")], ids=str)
@pytest.mark.one_case
def test_gather_nd(lookup: Any, row: tuple[int, ...], optimizer: str, use_resource: bool) -> None:
    assert_same(_model(row, use_resource, optimizer, lookup), "bias", "user")


def test_gather_nd_of_elements_stays() -> None:
    with tf.Graph().as_default():
        bias = _shaped((4,), True)
        loss = tf.reduce_sum(tf.gather_nd(bias, v1.placeholder(tf.int64, [None, 2], "places")))
        v1.train.AdagradOptimizer(0.1).minimize(loss + tf.reduce_sum(tf.gather(bias, [3])))
        (refusal,) = rewrite().refusals
        assert "selects parts of rows" in str(refusal)


@pytest.mark.parametrize("row", [(), (2, 3)], ids=str)
def test_the_proof_compares_rows_of_any_shape(row: tuple[int, ...]) -> None:
    def build() -> tuple[Any, Any]:
        inputs = Inputs.make()
        return _model(row)({"ids": inputs.features["ids"]}, inputs.labels)

    random = np.random.default_rng(0)
    feeds = [{"ids": random.integers(0, ROWS, (16, 3)), "labels": random.normal(size=(16, 1))} for _ in range(5)]
    proof = prove(build, feeds, steps=5)
    assert proof.ok, proof.summary()
    assert "tables: bias, user" in proof.summary()


def test_whole_reads_and_shapes_of_a_vector() -> None:
    with tf.Graph().as_default():
        bias = _shaped((), True)
        rows = tf.identity(tf.gather(bias, v1.placeholder(tf.int64, [None], "ids")))
        shape, total = tf.shape(bias), tf.reduce_sum(bias)
        set_all = bias.assign(tf.range(ROWS, dtype=tf.float32))
        train = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
        start = v1.global_variables_initializer()
        assert [table.name for table in rewrite().tables] == ["bias"]
        with v1.Session() as session:
            session.run(start)
            session.run(set_all.op)
            assert session.run(shape).tolist() == [ROWS]
            assert session.run(rows, {"ids:0": [3, 1, 3]}).tolist() == [3.0, 1.0, 3.0]
            assert session.run(total) == pytest.approx(ROWS * (ROWS - 1) / 2)
            session.run(train, {"ids:0": [3, 1]})
            assert session.run(total) < ROWS * (ROWS - 1) / 2


def _shapes_of_models_flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.skipif(not hasattr(v1.keras.layers, "Embedding"), reason="Keras 3 has no layers for v1 graphs")
def test_a_keras_layer_in_a_graph() -> None:
    def build(features: Any, labels: Any) -> Any:
        layer = v1.keras.layers.Embedding(ROWS, DIM, v1.random_normal_initializer(stddev=0.3), name="layer")
        return head(_shapes_of_models_flat(layer(features["ids"])), labels, v1.train.AdagradOptimizer(0.1))

    assert_same(build, "layer/embeddings")
