"""Programs that train by other ways than most: own optimizers, averages, branches, loops, samples, other types."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program

v1 = tf.compat.v1


def _train(loss: Any, step: Any, feeds: Any, *more: Any, number: int = 3, before: Any = ()) -> list[Any]:
    """Return the losses of some steps, then the values of `more`."""
    with v1.Session() as session:
        begin(session)
        session.run([v1.local_variables_initializer(), v1.tables_initializer(), *before])
        losses = [session.run([loss, step], feeds)[0] for _ in range(number)]
        return [*losses, *(session.run(one, feeds) for one in more)]


def _adagrad(loss: Any) -> Any:
    return v1.train.AdagradOptimizer(0.1).minimize(loss)


class _Sign(v1.train.GradientDescentOptimizer):
    """An optimizer of the program's own, which moves rows by the sign of their gradient."""

    def _apply_sparse(self, grad: Any, var: Any) -> Any:
        return v1.scatter_sub(var, grad.indices, 0.01 * tf.sign(grad.values))

    def _resource_apply_sparse(self, grad: Any, handle: Any, indices: Any) -> Any:
        return v1.scatter_sub(handle, indices, 0.01 * tf.sign(grad))


@program
def optimizer_of_the_program(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids) - 1) ** 2)
    return _train(loss, _Sign(0.1).minimize(loss), {ids: [1, 2, 1]}, w)


@program
def swapped_averages(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    out = tf.reduce_sum(tf.nn.embedding_lookup(w, ids), 1)
    loss = tf.reduce_mean((out - 1) ** 2)
    average = v1.train.ExponentialMovingAverage(0.5)
    with tf.control_dependencies([_adagrad(loss)]):
        train = average.apply(v1.trainable_variables())
    backup = setting.variable("backup", [30, 4], trainable=False)
    keep, back = backup.assign(w), w.assign(backup)
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, train], {ids: [1, 2]})[0] for _ in range(3)]
        session.run(keep)
        session.run(w.assign(average.average(w)))
        averaged = session.run([out, loss], {ids: [1, 2, 3]})
        session.run(back)
        return [*losses, *averaged, session.run([loss, train], {ids: [1, 2]})[0], session.run(w)]


@program
def step_in_a_branch(setting: Setting) -> list[Any]:
    """Branches of TensorFlow 2 train resource variables alone."""
    resource = dataclasses.replace(setting, resource=setting.resource or setting.second)
    model, trains = Model(resource, trained=False), v1.placeholder(tf.bool, [])
    optimizer = v1.train.AdagradOptimizer(0.1)
    pairs = optimizer.compute_gradients(model.loss)
    step = tf.cond(trains, lambda: tf.group(optimizer.apply_gradients(pairs)), lambda: tf.no_op())
    with v1.Session() as session:
        begin(session)
        feeds = [{model.ids: [number, 3], trains: number != 1} for number in range(4)]
        return [session.run([model.loss, step], one)[0] for one in feeds]


@program
def sampled_softmax(setting: Setting) -> list[Any]:
    ids, labels = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int64, [None, 1])
    w, out = setting.variable("w", [30, 4]), setting.variable("out", [30, 4])
    bias, rows = setting.variable("bias", [30]), tf.nn.embedding_lookup(w, ids)
    drawn = (tf.constant([3, 4], tf.int64), tf.ones([2, 1]), tf.ones([2]))
    loss = tf.reduce_mean(tf.nn.sampled_softmax_loss(out, bias, labels, rows, 2, 30, sampled_values=drawn))
    scores = tf.matmul(rows, out, transpose_b=True) + bias
    return _train(loss, _adagrad(loss), {ids: [1, 2], labels: [[5], [6]]}, scores, w, out, bias)


@program
def float64_and_half(setting: Setting) -> list[Any]:
    ids = v1.placeholder(tf.int32, [None])
    tables = [setting.variable(f"w{n}", [30, 4], dtype=kind) for n, kind in enumerate((tf.float64, tf.float16))]
    loss = tf.add_n([tf.reduce_mean(tf.cast(tf.nn.embedding_lookup(one, ids), tf.float32) ** 2) for one in tables])
    return _train(loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss), {ids: [1, 2, 1]}, *tables)


@program
def lookup_in_a_loop(setting: Setting) -> list[Any]:
    w, ids = setting.variable("w", [30, 4]), v1.placeholder(tf.int32, [None])
    total = tf.while_loop(
        lambda n, total: n < 3,
        lambda n, total: (n + 1, total + tf.reduce_sum(tf.nn.embedding_lookup(w, ids + n))),
        [0, 0.0],
    )[1]
    loss = (total - 1) ** 2
    return _train(loss, _adagrad(loss), {ids: [1, 2]}, w)


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
