"""Programs of people who keep, compare and put back values: pretrained rows, best weights, gradients by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1
ROWS = np.linspace(-1, 1, 120, dtype=np.float32).reshape(30, 4)


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
