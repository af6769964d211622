"""Programs whose models look rows up in other ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program, steps

v1 = tf.compat.v1


def _run(loss: Any, optimizer: Any, feeds: Any, *more: Any, first: Any = (), number: int = 3) -> list[Any]:
    """Return the losses of some steps of the optimizer, then the values of `more`."""
    step = optimizer.minimize(loss)
    with v1.Session() as session:
        begin(session)
        session.run(list(first))
        losses = [session.run([loss, step], feeds)[0] for _ in range(number)]
        return [*losses, *(session.run(one, feeds) for one in more)]


@program
def moving_average(setting: Setting) -> list[Any]:
    model, average = Model(setting), v1.train.ExponentialMovingAverage(0.9)
    with tf.control_dependencies([model.step]):
        model.step = average.apply([model.w, model.dense])
    averaged = average.average(model.w)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(averaged)]


@program
def lookup_in_a_loop(setting: Setting) -> list[Any]:
    w, ids = setting.variable("w", [30, 4]), v1.placeholder(tf.int32, [None])
    total = tf.while_loop(
        lambda n, total: n < 3,
        lambda n, total: (n + 1, total + tf.reduce_sum(tf.nn.embedding_lookup(w, ids + n))),
        [0, 0.0],
    )[1]
    return _run((total - 1) ** 2, v1.train.AdagradOptimizer(0.1), {ids: [1, 2]}, w)


@program
def ids_of_a_dataset(setting: Setting) -> list[Any]:
    data = tf.data.Dataset.from_tensor_slices(np.arange(12) % 7).batch(3).repeat()
    iterator = v1.data.make_initializable_iterator(data)
    w, ids = setting.variable("w", [30, 4]), iterator.get_next()
    loss = tf.reduce_sum(tf.nn.embedding_lookup(w, ids) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        session.run(iterator.initializer)
        losses = [session.run([loss, step])[0] for _ in range(5)]
        return [*losses, session.run([loss, step], {ids: [1, 2, 3]})[0]]


@program
def target_network(setting: Setting) -> list[Any]:
    online, ids = setting.variable("online", [30, 4]), v1.placeholder(tf.int32, [None])
    target = setting.variable("target", [30, 4], trainable=False)
    loss = tf.reduce_sum((tf.gather(online, ids) - tf.stop_gradient(tf.gather(target, ids))) ** 2)
    step, copy = v1.train.AdagradOptimizer(0.1).minimize(loss), target.assign(online)
    with v1.Session() as session:
        begin(session)
        losses = []
        for number in range(6):
            losses.append(session.run([loss, step], {ids: [1, 2, number]})[0])
            if number % 2:
                session.run(copy)
        return [*losses, session.run(target)]
