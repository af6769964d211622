"""Rec SDK's optimizers at their defaults: two steps, compared with the rules written out."""

from __future__ import annotations

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
