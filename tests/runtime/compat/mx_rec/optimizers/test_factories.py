"""Rec SDK's optimizers at their defaults, and classes of a program's own."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from runtime.compat import mx_rec

v1 = tf.compat.v1
IDS, START, RATE = [5, 9, 5], 0.5, 0.1
#: The gradient of each id in a step: that of 2 * row for each occurrence.
GRADIENTS = {5: 4.0, 9: 2.0}


def lazy_adam(gradient: float) -> float:
    m = v = 0.0
    w = START
    for t in (1, 2):
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        w -= RATE * np.sqrt(1 - 0.999**t) / (1 - 0.9**t) * m / (np.sqrt(v) + 1e-8)
    return w


def adagrad(gradient: float) -> float:
    s, w = 0.9, START
    for _ in range(2):
        s += gradient**2
        w -= RATE * gradient / np.sqrt(s)
    return w


def descent(gradient: float, decay: float = 0.0) -> float:
    w = START
    for _ in range(2):
        w -= RATE * (gradient + decay * w)
    return w


def descent_by_address(gradient: float) -> float:
    return descent(gradient, 1e-4)


def stock_ftrl() -> dict[int, float]:
    """What TensorFlow's FTRL comes to."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("table", [10, 1], initializer=v1.constant_initializer(START))
        train = v1.train.FtrlOptimizer(RATE).minimize(2.0 * tf.reduce_sum(tf.nn.embedding_lookup(table, IDS)))
        session.run(v1.global_variables_initializer())
        for _ in range(2):
            session.run(train)
        return {key: float(session.run(table)[key, 0]) for key in GRADIENTS}


@pytest.mark.parametrize("by_address", [False, True])
def test_two_steps_at_the_defaults(by_address: bool) -> None:
    mx_rec.install()
    try:
        _compare(by_address)
    finally:
        mx_rec.uninstall()


def _compare(by_address: bool) -> None:
    from mx_rec import optimizers  # type: ignore[import-not-found]
    from mx_rec.core.embedding import create_table, sparse_lookup  # type: ignore[import-not-found]
    from mx_rec.util.initialize import init  # type: ignore[import-not-found]

    init(use_dynamic_expansion=by_address)
    rules: dict[str, Any] = {"lazy_adam": lazy_adam, "adagrad": adagrad, "gradient_descent": descent, "ftrl": None}
    names = list(rules)[:3] if by_address else list(rules)
    if by_address:
        rules["gradient_descent"] = descent_by_address
    with tf.Graph().as_default(), v1.Session() as session:
        found, train = {}, []
        for name in names:
            table = create_table(tf.int64, 1, name, v1.constant_initializer(START), 5)
            loss = 2.0 * tf.reduce_sum(sparse_lookup(table, tf.constant(IDS, tf.int64), modify_graph=True))
            if by_address:
                optimizer = getattr(optimizers, f"{name}_by_addr").create_hash_optimizer_by_addr(RATE)
                rows = v1.get_collection("ASCEND_SPARSE_LOOKUP_LOCAL_EMB")[-1]
                addresses = v1.get_collection("ASCEND_SPARSE_LOOKUP_ID_OFFSET")[-1]
                train.append(optimizer.apply_gradients([tf.gradients(loss, rows)[0], addresses]))
            else:
                train.append(getattr(optimizers, name).create_hash_optimizer(RATE).minimize(loss))
            found[name] = sparse_lookup(
                table, tf.constant(list(GRADIENTS), tf.int64), is_train=False, modify_graph=True
            )
        session.run(v1.global_variables_initializer())
        for _ in range(2):
            session.run(train)
        rows = session.run(found)
    want = {name: {key: rules[name](gradient) for key, gradient in GRADIENTS.items()} for name in names if rules[name]}
    want |= {} if by_address else {"ftrl": stock_ftrl()}
    for name in names:
        np.testing.assert_allclose(rows[name][:, 0], list(want[name].values()), rtol=1e-5, err_msg=name)


DIM, RATE_CUSTOMIZED, DECAY = 3, 0.5, 0.1
BATCHES = [[5, 9, 5], [9, 7, 7], [5, 5, 2]]


@pytest.fixture
def names(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The names of Rec SDK that these tests need, in a fresh graph."""
    mx_rec.install()
    try:
        from mx_rec.core import embedding  # type: ignore[import-not-found]
        from mx_rec.optimizers import base  # type: ignore[import-not-found]
        from mx_rec.util import initialize  # type: ignore[import-not-found]

        initialize.init(**getattr(request, "param", {"use_dynamic": True}))
        with tf.Graph().as_default():
            yield {**vars(embedding), **vars(base), **vars(initialize)}
    finally:
        mx_rec.uninstall()


def decayed(*bases: type) -> Any:
    """Return a class of gradient descent with weight decay that reads and writes rows by their positions."""

    class Decayed(*bases):  # type: ignore[misc]
        def _apply_sparse_duplicate_indices(self, grad: Any, var: Any) -> Any:
            places = tf.expand_dims(grad.indices, 1)
            change = (grad.values + DECAY * tf.gather(var, grad.indices)) * self._learning_rate_tensor
            return v1.scatter_nd_add(var, places, -change, use_locking=self._use_locking)

    return Decayed


class _OnAVariable(v1.train.GradientDescentOptimizer):  # type: ignore[misc]
    """Lets the class above update a variable of its own: each row once, with the sum of its gradients."""

    def _resource_apply_sparse_duplicate_indices(self, grad: Any, handle: Any, indices: Any) -> Any:
        rows, places = tf.unique(indices)
        sums = tf.math.unsorted_segment_sum(grad, places, tf.size(rows))
        return self._apply_sparse_duplicate_indices(tf.IndexedSlices(sums, rows), handle)


def stock(initial: Any) -> tuple[list[float], Any]:
    """Return the losses and the variable after one step for each batch, by stock TensorFlow."""
    with tf.Graph().as_default(), v1.Session() as session:
        table = v1.get_variable("table", initializer=tf.constant(initial), use_resource=True)
        ids = v1.placeholder(tf.int64, [3])
        loss = tf.reduce_sum(tf.nn.embedding_lookup(table, ids) ** 2 * tf.constant([[1.0], [2.0], [3.0]]))
        train = decayed(_OnAVariable)(RATE_CUSTOMIZED / 20).minimize(loss)
        session.run(v1.global_variables_initializer())
        losses = [session.run([loss, train], {ids: batch})[0] for batch in BATCHES]
        return losses, session.run(table)


def test_a_class_of_its_own_equals_itself_on_a_variable(names: Any) -> None:
    base = names["CustomizedOptimizer"]
    table = names["create_table"](tf.int64, DIM, "user", v1.constant_initializer(0.5), 100)
    ids = v1.placeholder(tf.int64, [3])
    rows = names["sparse_lookup"](table, ids, modify_graph=True, is_train=True)
    loss = tf.reduce_sum(rows**2 * tf.constant([[1.0], [2.0], [3.0]]))
    optimizer = decayed(v1.train.GradientDescentOptimizer, base)(RATE_CUSTOMIZED / 20)
    step = v1.train.get_or_create_global_step()
    pairs = optimizer.compute_gradients(loss, [table.variable])
    train = optimizer.apply_gradients(pairs, step)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        losses = [session.run([loss, train], {ids: batch})[0] for batch in BATCHES]
        keys, values, _, _ = session.run(table.snapshot())
        assert session.run(step) == len(BATCHES)
    expected, variable = stock(np.full([10, DIM], 0.5, np.float32))
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    assert sorted(keys) == [2, 5, 7, 9]
    np.testing.assert_allclose(values, variable[keys], rtol=1e-6)


def test_padding_keys_and_the_reserved_key_are_not_updated(names: Any) -> None:
    base = names["CustomizedOptimizer"]
    table = names["create_table"](
        tf.int64,
        DIM,
        "user",
        v1.constant_initializer(0.5),
        100,
        padding_keys=[9],
        padding_keys_mask=True,
        padding_keys_len=9,
    )
    rows = names["sparse_lookup"](table, tf.constant([5, 9, -1], tf.int64), modify_graph=True, is_train=True)
    optimizer = decayed(v1.train.GradientDescentOptimizer, base)(RATE_CUSTOMIZED)
    train = optimizer.minimize(tf.reduce_sum(rows), var_list=[table.variable])
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        session.run([train, rows])
        keys, values, _, _ = session.run(table.snapshot())
    changed = 0.5 - RATE_CUSTOMIZED * (1 + DECAY * 0.5)
    assert {key: value[0] for key, value in zip(keys, values, strict=True)} == pytest.approx({5: changed, 9: 0.5})


def test_slots_are_refused(names: Any) -> None:
    own = type("Own", (v1.train.MomentumOptimizer, names["CustomizedOptimizer"]), {})
    table = names["create_table"](tf.int64, DIM, "user", v1.constant_initializer(0.5), 100)
    rows = names["sparse_lookup"](table, tf.constant([5], tf.int64), modify_graph=True)
    with pytest.raises(NotImplementedError, match=r"Own has the slot `momentum`.*: use create_hash_optimizer"):
        own(RATE_CUSTOMIZED, 0.9).minimize(tf.reduce_sum(rows), var_list=[table.variable])


@pytest.mark.parametrize("names", [{"use_dynamic_expansion": True}], indirect=True)
def test_tables_that_expand_are_refused(names: Any) -> None:
    table = names["create_table"](tf.int64, DIM, "user", v1.constant_initializer(0.5), 100)
    optimizer = decayed(v1.train.GradientDescentOptimizer, names["CustomizedOptimizer"])(RATE_CUSTOMIZED)
    gradient = tf.IndexedSlices(tf.ones([1, DIM]), tf.constant([5], tf.int64))
    with pytest.raises(ValueError, match=r"not compatible .* Decayed: .*_by_addr"):
        optimizer.apply_gradients([(gradient, table.variable)])


def test_what_the_base_class_has(names: Any) -> None:
    own = names["CustomizedOptimizer"]()
    assert (own.slot_num, own.derivative) == (0, 1)
    own._get_name("Mine")
    first = own.unique_name
    own._get_name("Mine")
    assert (first, own.unique_name, own.base_name) == ("Mine_0", "Mine_1", "Mine")
    with pytest.raises(NotImplementedError, match="get_slot_init_values"):
        own.get_slot_init_values()
    summed, places = own.sum_same_id_gradients(tf.ones([2, 3]), None, False)
    with v1.Session() as session:
        assert session.run([tf.shape(summed), places])[1].tolist() == [0, 1]
