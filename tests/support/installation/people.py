"""Programs of people who keep, compare and put back values: pretrained rows, best weights, gradients by hand."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1
ROWS = np.linspace(-1, 1, 120, dtype=np.float32).reshape(30, 4)


@program
def pretrained_by_a_constant(setting: Setting) -> list[Any]:
    w = v1.get_variable("w", initializer=ROWS, use_resource=setting.resource)
    ids = v1.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(w, ids) ** 2)
    step = v1.train.AdamOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        return [*(session.run([loss, step], {ids: [1, 2, 1]})[0] for _ in range(3)), session.run(w)]


@program
def pretrained_by_a_placeholder(setting: Setting) -> list[Any]:
    model = Model(setting)
    given = v1.placeholder(tf.float32, [30, 4])
    fill = model.w.assign(given)
    with v1.Session() as session:
        begin(session)
        session.run(fill, {given: ROWS})
        return [*steps(session, model), session.run(model.w)]


@program
def pretrained_by_an_initializer_with_a_placeholder(setting: Setting) -> list[Any]:
    given = v1.placeholder(tf.float32, [30, 4])
    w = v1.Variable(given, name="w", use_resource=setting.resource)
    ids = v1.placeholder(tf.int32, [None])
    loss = tf.reduce_sum(tf.nn.embedding_lookup(w, ids) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        session.run(v1.global_variables_initializer(), {given: ROWS})
        return [*(session.run([loss, step], {ids: [1, 2, 1]})[0] for _ in range(3)), session.run(w)]


@program
def fetched_assignment(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        value = session.run(v1.assign(model.w, ROWS))
        added = session.run(v1.assign_sub(model.w, ROWS * 0.5))
        return [value, added, *steps(session, model), session.run(model.w)]


@program
def early_stopping(setting: Setting) -> list[Any]:
    model = Model(setting)
    saver = v1.train.Saver(max_to_keep=2)
    best, history = np.inf, []
    with v1.Session() as session:
        begin(session)
        for epoch in range(4):
            steps(session, model, 2)
            loss = session.run(model.loss, {model.ids: [7, 8, 9]})
            history.append(loss)
            if loss < best:
                best = loss
                saver.save(session, str(setting.folder / "best"), global_step=epoch)
        saver.restore(session, tf.train.latest_checkpoint(str(setting.folder)))
        kept = sorted(path.name for path in setting.folder.glob("*.index"))
        return [*history, best, session.run(model.w), kept, session.run(model.global_step)]


@program
def values_copied_and_pickled(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        first = copy.deepcopy(session.run(model.w))
        steps(session, model)
        second = pickle.loads(pickle.dumps(session.run({"w": model.w, "all": v1.trainable_variables()})))
        first[0] = 0  # the values are the program's own
        return [first, second, session.run(model.w)]


@program
def counted_late(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        norm = session.run(tf.linalg.global_norm(v1.trainable_variables()))
        sizes = session.run([tf.size(one) for one in v1.trainable_variables()])
        shapes = session.run([tf.shape(one) for one in v1.trainable_variables()])
        return [*losses, norm, sizes, shapes, [one.get_shape().as_list() for one in v1.trainable_variables()]]


@program
def penalty_of_all_variables(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    loss = model.loss + 1e-3 * tf.add_n([tf.nn.l2_loss(one) for one in v1.trainable_variables()])
    model.loss, model.step = loss, v1.train.AdamOptimizer(0.05).minimize(loss)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w)]


@program
def gradients_clipped_by_global_norm(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    variables = v1.trainable_variables()
    gradients, norm = tf.clip_by_global_norm(tf.gradients(model.loss, variables), 0.1)
    pairs = zip(gradients, variables, strict=True)
    model.step = v1.train.AdamOptimizer(0.1).apply_gradients(pairs, global_step=model.global_step)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(norm, {model.ids: [1, 1, 2]}), session.run(model.w)]


@program
def gradients_clipped_by_value(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    optimizer = v1.train.RMSPropOptimizer(0.05)
    pairs = optimizer.compute_gradients(model.loss)
    clipped = [
        (tf.clip_by_value(gradient, -0.01, 0.01), variable) for gradient, variable in pairs if gradient is not None
    ]
    model.step = optimizer.apply_gradients(clipped)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w)]


@program
def gradients_clipped_by_norm_each(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    optimizer = v1.train.GradientDescentOptimizer(0.5)
    pairs = optimizer.compute_gradients(model.loss)
    model.step = optimizer.apply_gradients([(tf.clip_by_norm(gradient, 0.05), one) for gradient, one in pairs])
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w)]


@program
def gradients_accumulated(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    variables = v1.trainable_variables()
    sums = [v1.Variable(tf.zeros(one.shape), trainable=False, use_resource=setting.resource) for one in variables]
    clear = [one.assign(tf.zeros(one.shape)) for one in sums]
    gradients = tf.gradients(model.loss, variables)
    add = [one.assign_add(tf.convert_to_tensor(gradient)) for one, gradient in zip(sums, gradients, strict=True)]
    apply = v1.train.AdagradOptimizer(0.1).apply_gradients(list(zip(sums, variables, strict=True)))
    with v1.Session() as session:
        begin(session)
        for _ in range(2):
            session.run(clear)
            for number in range(3):
                session.run(add, {model.ids: [number, 5]})
            session.run(apply)
        return [session.run(model.loss, {model.ids: [0, 1, 2]}), session.run(model.w)]


@program
def gradient_fetched(setting: Setting) -> list[Any]:
    model = Model(setting)
    (gradient,) = tf.gradients(model.loss, [model.w])
    dense = tf.convert_to_tensor(gradient)
    with v1.Session() as session:
        begin(session)
        slices = session.run(gradient, {model.ids: [3, 3, 4]})
        return [slices.values, slices.indices, session.run(dense, {model.ids: [3, 3]}), *steps(session, model)]


@program
def failure_in_the_middle(setting: Setting) -> list[Any]:
    values: list[Any] = []
    for attempt in range(2):
        with new_graph():
            model, saver = Model(setting), v1.train.Saver()
            try:
                with v1.Session() as session:
                    path = tf.train.latest_checkpoint(str(setting.folder))
                    if path:
                        saver.restore(session, path)
                    else:
                        begin(session)
                    values += steps(session, model)
                    saver.save(session, str(setting.folder / "model"), global_step=model.global_step)
                    if attempt == 0:
                        session.run(tf.debugging.assert_less(model.ids, 30), {model.ids: [99]})
            except tf.errors.InvalidArgumentError:
                values.append("failed")
    return values


@program
def interrupted(setting: Setting) -> list[Any]:
    model, losses = Model(setting), []
    with v1.Session() as session:
        begin(session)
        try:
            losses += steps(session, model)
            raise KeyboardInterrupt
        except KeyboardInterrupt:
            v1.train.Saver().save(session, str(setting.folder / "model"))
        losses += steps(session, model)
        v1.train.Saver().restore(session, str(setting.folder / "model"))
        return [*losses, *steps(session, model)]


@program
def embedding_projector(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        steps(session, model)
        np.savetxt(setting.folder / "vectors.tsv", session.run(model.w), delimiter="\t")
        nearest = tf.nn.top_k(tf.matmul(model.rows, model.w, transpose_b=True), 3)
        values, found = session.run(nearest, {model.ids: [4]})
        return [np.loadtxt(setting.folder / "vectors.tsv", delimiter="\t").astype("f"), values, found.tolist()]


@program
def rows_normalized_after_each_step(setting: Setting) -> list[Any]:
    model = Model(setting)
    normalize = model.w.assign(tf.nn.l2_normalize(model.w, 1))
    with v1.Session() as session:
        begin(session)
        losses = []
        for _ in range(3):
            losses += steps(session, model, 2)
            session.run(normalize)
        return [*losses, session.run(model.w)]


@program
def padding_row_set_to_zero(setting: Setting) -> list[Any]:
    w, ids = setting.variable("w", [30, 4]), v1.placeholder(tf.int32, [None, None])
    padded = tf.concat([tf.zeros([1, 4]), w[1:]], 0)
    rows = tf.nn.embedding_lookup(padded, ids)
    loss = tf.reduce_sum((tf.reduce_mean(rows, 1) - 1) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, step], {ids: [[0, 1], [2, 0]]})[0] for _ in range(3)]
        return [*losses, session.run(w)]


@program
def masked_by_a_condition(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    mask = tf.cast(tf.not_equal(model.ids, 0), tf.float32)[:, None]
    loss = tf.reduce_sum((tf.nn.embedding_lookup(model.w, model.ids) * mask - 1) ** 2)
    model.loss, model.step = loss, v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w)]


@program
def gradients_that_are_not_finite(setting: Setting) -> list[Any]:
    w, linear = (setting.variable(name, [30, 2]) for name in ("w", "linear"))
    ids, scale = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.float32, [])
    loss = tf.reduce_sum((tf.gather(w, ids) + tf.gather(linear, ids)) * scale)
    step = [v1.train.AdamOptimizer(0.1).minimize(loss, var_list=[w])]
    step.append(v1.train.FtrlOptimizer(0.1).minimize(loss, var_list=[linear]))
    with v1.Session() as session:
        begin(session)
        for number, one in enumerate((1.0, np.nan, np.inf, 1.0)):
            session.run([loss, *step], {ids: [number, 2 * number, 9], scale: one})
        return session.run([w, linear])  # type: ignore[no-any-return]
