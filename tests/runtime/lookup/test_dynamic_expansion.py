"""Dynamic expansion: rows and addresses in the collections, training by address equal to training by key, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import runtime
from runtime import config
from runtime.optimizers import (
    adagrad_by_addr,
    adam,
    gradient_descent,
    gradient_descent_by_addr,
    keras_adam,
    keras_adamw,
    keras_sgd,
    lazy_adam_by_addr,
)
from runtime.table.addresses import ID_OFFSET, LOCAL_EMB

v1 = tf.compat.v1
DIM = 3


@pytest.fixture
def expanding() -> Iterator[None]:
    """`init(use_dynamic_expansion=True)` around a test, in a graph of its own."""
    runtime.init(use_dynamic_expansion=True)
    with tf.Graph().as_default():
        yield
    if config.current() is not None:
        runtime.terminate_config_initializer()


def table_named(name: str) -> runtime.Table:
    return runtime.create_table(tf.int64, DIM, name, v1.random_normal_initializer(stddev=1.0, seed=5))


def collections() -> tuple[list[tf.Tensor], list[tf.Tensor]]:
    return v1.get_collection(LOCAL_EMB), v1.get_collection(ID_OFFSET)


@pytest.mark.usefixtures("expanding")
def test_several_lookups_of_a_table_are_one_update() -> None:
    table = table_named("user")
    first, second = tf.constant([1, 2], tf.int64), tf.constant([2, 3, 2], tf.int64)
    loss = tf.reduce_sum(runtime.sparse_lookup(table, first)) + 2 * tf.reduce_sum(runtime.sparse_lookup(table, second))
    rows, addresses = collections()
    optimizer = adagrad_by_addr.create_hash_optimizer_by_address(1.0, initial_accumulator_value=1.0)
    train = optimizer.apply_gradients(zip(tf.gradients(loss, rows), addresses, strict=True))
    swapped = optimizer.apply_gradients([(tf.ones([2, DIM]), addresses[1]), (tf.ones([2, DIM]), addresses[0])])
    crossed = v1.placeholder(tf.float32, [None, DIM])
    wrong = optimizer.apply_gradients([(crossed, addresses[0]), (tf.ones([2, DIM]), addresses[1])])
    read = runtime.sparse_lookup(table, tf.constant([1, 2, 3], tf.int64), is_train=False)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        before = session.run(read)
        with pytest.raises(tf.errors.InvalidArgumentError, match="one row for each of its addresses"):
            session.run(wrong, {crossed: np.ones([3, DIM])})
        np.testing.assert_array_equal(session.run(read), before)
        session.run(train)
        gradient = np.array([[1.0], [1 + 4], [2.0]], np.float32)
        wanted = before - gradient / np.sqrt(1 + gradient**2 + 1e-7)
        np.testing.assert_allclose(session.run(read), wanted, rtol=1e-6)
        session.run(swapped)


@pytest.mark.usefixtures("expanding")
def test_stale_and_invented_addresses_fail_and_change_nothing() -> None:
    table = table_named("user")
    runtime.sparse_lookup(table, tf.constant([4, 5], tf.int64))
    (_,), (addresses,) = collections()
    optimizer = gradient_descent_by_addr.create_hash_optimizer_by_addr(1.0, weight_decay=0.0)
    train = optimizer.apply_gradients([(tf.ones([2, DIM]), addresses)])
    read = runtime.sparse_lookup(table, tf.constant([4, 5], tf.int64), is_train=False)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        places, before = session.run(addresses), session.run(read)
        for wrong in ([places[0], 12345], [-1, places[1]], places + 1):
            with pytest.raises(tf.errors.InvalidArgumentError, match="is not that of a row of table 'user'"):
                session.run(train, {addresses: wrong})
        np.testing.assert_array_equal(session.run(read), before)
        session.run(table.variable.initializer)
        with pytest.raises(tf.errors.InvalidArgumentError, match="or of one that was evicted"):
            session.run(train, {addresses: places})
        session.run(addresses)  # others, of the same keys in the same places
        with pytest.raises(tf.errors.InvalidArgumentError, match="before a reset or restore"):
            session.run(train, {addresses: places})


@pytest.mark.usefixtures("expanding")
def test_what_does_not_fit_is_refused_while_the_graph_is_built() -> None:
    table = table_named("user")
    loss = tf.reduce_sum(runtime.sparse_lookup(table, tf.constant([4, 5], tf.int64)))
    (rows,), (addresses,) = collections()
    optimizer = lazy_adam_by_addr.create_hash_optimizer_by_addr()
    gradients = tf.gradients(loss, rows)
    with pytest.raises(ValueError, match=r"does not fit the addresses .* it must be \(None, 3\)"):
        optimizer.apply_gradients([(tf.ones([2, DIM + 1]), addresses)])
    with pytest.raises(ValueError, match="is not a tensor of addresses"):
        optimizer.apply_gradients([(gradients[0], tf.identity(addresses))])
    with pytest.raises(ValueError, match="not compatible with the optimizer"):
        optimizer.apply_gradients([(gradients[0], table.variable)])
    with pytest.raises(ValueError, match="no gradient for any address"):
        optimizer.apply_gradients([(None, addresses)])
    with pytest.raises(ValueError, match="not compatible with the optimizer"):
        pairs = [(tf.IndexedSlices(tf.ones([1, DIM]), tf.constant([4], tf.int64)), table.variable)]
        gradient_descent.create_hash_optimizer(0.1).apply_gradients(pairs)
    for rule in (adam, keras_adam, keras_adamw, keras_sgd):
        with pytest.raises(ValueError, match=r"lazy_adam_by_addr, .*or leave use_dynamic_expansion False"):
            rule.create_hash_optimizer(0.1).apply_gradients(pairs)
    short = optimizer.apply_gradients([(v1.placeholder_with_default(tf.ones([1, DIM]), [None, DIM]), addresses)])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        with pytest.raises(tf.errors.InvalidArgumentError, match=r"grads has shape \[1, 3\]; it must be \[2, 3\]"):
            session.run(short)


def test_an_eager_table_is_refused_when_it_is_made() -> None:
    runtime.init(use_dynamic_expansion=True)
    try:
        with pytest.raises(
            RuntimeError, match=r"`user` cannot be created in eager mode .*: leave it False, since an eager"
        ):
            table_named("user")
    finally:
        runtime.terminate_config_initializer()


@pytest.mark.usefixtures("expanding")
@pytest.mark.parametrize("is_train", [True, "tensor"])
def test_lookups_that_cannot_train_an_expanding_table_are_refused(is_train: Any) -> None:
    table = table_named("user")
    ids = tf.RaggedTensor.from_row_splits(tf.constant([1, 2], tf.int64), [0, 2], validate=False)
    if is_train == "tensor":
        is_train = v1.placeholder(tf.bool, [])
    for look_up in (
        lambda **given: runtime.embedding_lookup_sparse(table, ids, **given),
        lambda **given: runtime.safe_embedding_lookup_sparse(table, ids, **given),
        lambda **given: runtime.grouped_lookup([(table, ids.values)], **given)[0],
        lambda **given: runtime.grouped_embedding_lookup_sparse([(table, ids)], **given)[0],
    ):
        with pytest.raises(ValueError, match=r"`user` expands .*only sparse_lookup trains"):
            look_up(is_train=is_train)
        assert look_up(is_train=False).shape[-1] == DIM
        assert look_up(is_train=np.bool_(False)).shape[-1] == DIM
        assert look_up(is_train=is_train, is_grad=False).shape[-1] == DIM
