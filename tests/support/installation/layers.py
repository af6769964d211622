"""Programs whose rows go through layers: sparse ids, columns, shared tables, several losses, loops and branches."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program

v1 = tf.compat.v1
SPARSE = v1.SparseTensorValue(np.array([[0, 0], [0, 1], [2, 0]]), np.array([1, 4, 1]), np.array([3, 2]))


def _train(loss: Any, step: Any, feeds: Any, *more: Any, number: int = 3, before: Any = ()) -> list[Any]:
    """Return the losses of some steps, then the values of `more`."""
    with v1.Session() as session:
        begin(session)
        session.run([v1.local_variables_initializer(), v1.tables_initializer(), *before])
        losses = [session.run([loss, step], feeds)[0] for _ in range(number)]
        return [*losses, *(session.run(one, feeds) for one in more)]


def _dense(net: Any, units: int, name: str | None = None) -> Any:
    """A dense layer whose first values are the same in each run: `layers.dense` draws them without the graph's seed."""
    return v1.layers.dense(net, units, name=name, kernel_initializer=v1.initializers.constant(0.1))


def _adagrad(loss: Any) -> Any:
    return v1.train.AdagradOptimizer(0.1).minimize(loss)


@program
def sparse_ids_with_combiners(setting: Setting) -> list[Any]:
    ids = v1.sparse_placeholder(tf.int64, [None, None])
    w = setting.variable("w", [30, 4])
    rows = [v1.nn.embedding_lookup_sparse(w, ids, None, combiner=one) for one in ("mean", "sum", "sqrtn")]
    loss = tf.reduce_mean((tf.add_n(rows) - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: SPARSE}, w)


@program
def sparse_ids_with_weights_and_norm(setting: Setting) -> list[Any]:
    ids, weights = v1.sparse_placeholder(tf.int64, [None, None]), v1.sparse_placeholder(tf.float32, [None, None])
    w = setting.variable("w", [30, 4])
    rows = v1.nn.embedding_lookup_sparse(w, ids, weights, combiner="sum", max_norm=0.5)
    loss = tf.reduce_mean((rows - 1) ** 2)
    values = SPARSE._replace(values=np.array([0.5, 2.0, 1.0], np.float32))
    return _train(loss, _adagrad(loss), {ids: SPARSE, weights: values}, w)


@program
def safe_sparse_lookup(setting: Setting) -> list[Any]:
    ids = v1.sparse_placeholder(tf.int64, [None, None])
    w = setting.variable("w", [30, 4])
    loss = tf.reduce_mean((v1.nn.safe_embedding_lookup_sparse(w, ids, combiner="mean") - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: SPARSE}, w)


@program
def rows_with_a_greatest_norm(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids, max_norm=0.3) - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: [1, 2, 1]}, w)


def _parts(setting: Setting, strategy: str) -> list[Any]:
    ids = v1.placeholder(tf.int64, [None])
    parts = [setting.variable(f"part_{number}", [10, 4]) for number in range(3)]
    rows = v1.nn.embedding_lookup(parts, ids, partition_strategy=strategy)
    loss = tf.reduce_mean((rows - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: [1, 12, 29, 1]}, rows, *parts)


@program
def parts_by_remainder(setting: Setting) -> list[Any]:
    return _parts(setting, "mod")


@program
def parts_by_range(setting: Setting) -> list[Any]:
    return _parts(setting, "div")


def _columns(setting: Setting, shared: bool) -> list[Any]:
    names = ["user", "item"]
    categories = [v1.feature_column.categorical_column_with_hash_bucket(name, 20, tf.int64) for name in names]
    if shared:
        columns = v1.feature_column.shared_embedding_columns(categories, 4)
    else:
        columns = [v1.feature_column.embedding_column(one, 4, combiner="sum") for one in categories]
    columns.append(v1.feature_column.numeric_column("price"))
    features = {name: v1.placeholder(tf.int64, [None]) for name in names}
    features["price"] = v1.placeholder(tf.float32, [None])
    with v1.variable_scope("columns", use_resource=setting.resource):
        net = v1.feature_column.input_layer(features, columns)
    loss = tf.reduce_mean((_dense(net, 1) - 1) ** 2)
    feeds = {features["user"]: [1, 2], features["item"]: [5, 5], features["price"]: [1.0, 2.0]}
    return _train(loss, _adagrad(loss), feeds, *v1.trainable_variables())


@program
def input_layer(setting: Setting) -> list[Any]:
    return _columns(setting, False)


@program
def input_layer_of_shared_columns(setting: Setting) -> list[Any]:
    return _columns(setting, True)


@program
def linear_columns(setting: Setting) -> list[Any]:
    words = v1.feature_column.categorical_column_with_vocabulary_list("word", ["a", "b", "c"], num_oov_buckets=1)
    features = {"word": v1.placeholder(tf.string, [None])}
    with v1.variable_scope("columns", use_resource=setting.resource):
        logits = v1.feature_column.linear_model(features, [words])
    loss = tf.reduce_mean((logits - 1) ** 2)
    step = v1.train.FtrlOptimizer(0.1).minimize(loss)
    return _train(loss, step, {features["word"]: ["a", "z", "a"]}, *v1.trainable_variables())


@program
def tasks_with_optimizers_of_their_own(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    rows = tf.nn.embedding_lookup(w, ids)
    losses = [tf.reduce_mean((_dense(rows, 1, name=name) - 1) ** 2) for name in ("click", "buy")]
    heads = [v1.trainable_variables(name) for name in ("click", "buy")]
    first = v1.train.AdamOptimizer(0.05).minimize(losses[0], var_list=[w, *heads[0]])
    second = v1.train.AdamOptimizer(0.05).minimize(losses[1], var_list=heads[1])
    return _train(losses, [first, second], {ids: [1, 2, 1]}, w)


@program
def generator_and_discriminator(setting: Setting) -> list[Any]:
    ids = v1.placeholder(tf.int32, [None])
    losses, tables = [], []
    for name in ("generator", "discriminator"):
        with v1.variable_scope(name):
            tables.append(setting.variable("w", [30, 4]))
            losses.append(tf.reduce_mean((tf.nn.embedding_lookup(tables[-1], ids) - 1) ** 2))
    steps = [
        v1.train.GradientDescentOptimizer(0.5).minimize(loss, var_list=v1.trainable_variables(name))
        for loss, name in zip(losses, ("generator", "discriminator"), strict=True)
    ]
    with v1.Session() as session:
        begin(session)
        turns = [session.run([losses[n % 2], steps[n % 2]], {ids: [1, 2]})[0] for n in range(6)]
        return [*turns, *session.run(tables)]


@program
def decayed_rate(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    step = v1.train.get_or_create_global_step()
    rate = v1.train.exponential_decay(0.5, step, 1, 0.7, staircase=True)
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids) - 1) ** 2)
    train = v1.train.GradientDescentOptimizer(rate).minimize(loss, global_step=step)
    return _train(loss, train, {ids: [1, 2, 1]}, w, rate)


@program
def rate_by_placeholder(setting: Setting) -> list[Any]:
    ids, w, rate = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4]), v1.placeholder(tf.float32, [])
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids) - 1) ** 2)
    train = v1.train.MomentumOptimizer(rate, 0.9, use_nesterov=True).minimize(loss)
    return _train(loss, train, {ids: [1, 2, 1], rate: 0.2}, w)


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
def normalized_batches_and_dropout(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    training, kept = v1.placeholder_with_default(False, []), v1.placeholder(tf.float32, [])
    net = v1.layers.batch_normalization(tf.nn.embedding_lookup(w, ids), training=training)
    net = v1.nn.dropout(net, keep_prob=kept, seed=1)
    loss = tf.reduce_mean((_dense(net, 1) - 1) ** 2)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train = _adagrad(loss)
    return _train(loss, train, {ids: [1, 2, 3], training: True, kept: 1.0}, w, *v1.global_variables("batch"))


@program
def recurrent_layers(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None, 3]), setting.variable("w", [30, 4])
    cell = v1.nn.rnn_cell.GRUCell(5, kernel_initializer=v1.initializers.constant(0.1))
    outputs, _ = v1.nn.dynamic_rnn(cell, tf.nn.embedding_lookup(w, ids), dtype=tf.float32)
    loss = tf.reduce_mean((outputs - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: [[1, 2, 0], [3, 3, 1]]}, w)


def _branch(setting: Setting, choose: Callable[..., Any]) -> list[Any]:
    ids, w, flag = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4]), v1.placeholder(tf.bool, [])
    rows = choose(flag, lambda: tf.nn.embedding_lookup(w, ids), lambda: tf.nn.embedding_lookup(w, ids + 1) * 2.0)
    loss = tf.reduce_mean((rows - 1) ** 2)
    train = _adagrad(loss)
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, train], {ids: [1, 2], flag: bool(n % 2)})[0] for n in range(4)]
        return [*losses, session.run(w)]


@program
def branches(setting: Setting) -> list[Any]:
    return _branch(setting, v1.cond)


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
def scanned(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None]), setting.variable("w", [30, 4])
    rows = tf.scan(lambda state, row: 0.5 * state + row, tf.nn.embedding_lookup(w, ids), initializer=tf.zeros([4]))
    loss = tf.reduce_mean((rows - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: [1, 2, 1]}, w)


@program
def mapped(setting: Setting) -> list[Any]:
    ids, w = v1.placeholder(tf.int32, [None, 2]), setting.variable("w", [30, 4])
    rows = tf.map_fn(lambda one: tf.reduce_sum(tf.nn.embedding_lookup(w, one), 0), ids, dtype=tf.float32)
    loss = tf.reduce_mean((rows - 1) ** 2)
    return _train(loss, _adagrad(loss), {ids: [[1, 2], [1, 1]]}, w)


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
def factorization(setting: Setting) -> list[Any]:
    users, items = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int32, [None])
    user = tf.nn.embedding_lookup(setting.variable("users", [20, 4]), users)
    item = tf.nn.embedding_lookup(setting.variable("items", [30, 4]), items)
    biases = [tf.gather(setting.variable(f"bias_{n}", [30]), ids) for n, ids in enumerate((users, items))]
    rating = tf.reduce_sum(user * item, 1) + tf.add_n(biases) + setting.variable("mean", [])
    loss = tf.nn.l2_loss(rating - 3) + 0.01 * (tf.nn.l2_loss(user) + tf.nn.l2_loss(item))
    train = v1.train.AdamOptimizer(0.05).minimize(loss)
    return _train(loss, train, {users: [1, 2], items: [3, 3]}, *v1.trainable_variables())


@program
def table_of_strings(setting: Setting) -> list[Any]:
    words, w = v1.placeholder(tf.string, [None]), setting.variable("w", [4, 4])
    start = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([1, 2], tf.int64))
    ids = tf.lookup.StaticHashTable(start, 0).lookup(words)
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids) - 1) ** 2)
    return _train(loss, _adagrad(loss), {words: ["a", "c", "b"]}, w)


@program
def float64_and_half(setting: Setting) -> list[Any]:
    ids = v1.placeholder(tf.int32, [None])
    tables = [setting.variable(f"w{n}", [30, 4], dtype=kind) for n, kind in enumerate((tf.float64, tf.float16))]
    loss = tf.add_n([tf.reduce_mean(tf.cast(tf.nn.embedding_lookup(one, ids), tf.float32) ** 2) for one in tables])
    return _train(loss, v1.train.GradientDescentOptimizer(0.1).minimize(loss), {ids: [1, 2, 1]}, *tables)
