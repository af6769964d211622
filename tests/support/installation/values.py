"""Programs that read and write moved variables, and put back values that they keep."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program, steps

v1 = tf.compat.v1
ONES = np.ones([30, 4], np.float32)


@program
def summaries(setting: Setting) -> list[Any]:
    model = Model(setting)
    v1.summary.histogram("w", model.w)
    v1.summary.scalar("norm", tf.norm(model.w))
    early = v1.summary.merge_all()
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        v1.summary.histogram("late", model.w)
        texts = session.run([early, v1.summary.merge_all()])
        parsed = [v1.Summary.FromString(text).value for text in texts]
        return [*losses, [[(one.tag, one.simple_value, one.histo.sum) for one in values] for values in parsed]]


@program
def written_late_in_one_run(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        added = [v1.assign_add(model.w, tf.ones([30, 4]) * 10.0**number).op for number in range(3)]
        session.run([*added, tf.gather(model.w, [1])])
        values = [session.run(model.w)]
        session.run(tf.group(*(v1.scatter_add(model.w, [number % 2], tf.ones([1, 4])) for number in range(4))))
        return [*losses, *values, session.run(model.w)]


@program
def values_fed(setting: Setting) -> list[Any]:
    """Tensors that read the variable are fed: to lookups, to reads of all rows, to what is built after the rewrite.

    So is the result of a lookup that no other op gives on.
    """
    model = Model(setting)
    read, rows = model.w.read_value(), tf.gather(model.w, model.ids)
    wanted = [model.w, read, model.out, tf.gather(read, model.ids), tf.norm(read), rows * 2.0]
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        wanted += [read * 2.0, tf.reduce_sum(model.w) + model.w[1, 1]]
        given = [{model.ids: [2, 1], fed: ONES * 3} for fed in (model.w, read)]
        values = [session.run(one, feeds) for feeds in given for one in [*wanted, wanted]]
        values.append(session.run([model.out, wanted[5]], {model.ids: [2, 1], rows: ONES[:2] * 3}))
        handle = session.partial_run_setup([wanted[5]], [model.ids, rows])
        values.append(session.partial_run(handle, wanted[5], {model.ids: [2, 1], rows: ONES[:2] * 3}))
        called = session.make_callable([wanted[4], read], [read])(ONES * 2)
        return [*losses, *values, called, *steps(session, model)]


@program
def read_after_the_step(setting: Setting) -> list[Any]:
    """What is fetched waits for the step: it trains."""
    model, given = Model(setting), [1, 2]
    with tf.control_dependencies([model.step]):
        read = model.w.read_value()
        again = tf.identity(read)
    with tf.control_dependencies([read]):
        after = tf.identity(read)
    values = []
    with v1.train.MonitoredSession() as session:
        for one in (read, again, after):
            session.run(one, {model.ids: given})
            values.append(session.run([model.w, model.global_step]))
    with v1.Session() as session:
        begin(session)
        for one in (read * 2.0, tf.norm(again)):
            session.run(one, {model.ids: given})
            values.append(session.run([model.w, model.global_step]))
    return values


@program
def gradients_of_terms_and_parts_late(setting: Setting) -> list[Any]:
    """A term over all rows makes a gradient dense; one of a part has the part's own numbers."""
    ids = v1.placeholder(tf.int32, [None])
    whole = setting.variable("whole", [6, 2])
    parts = list(setting.variable("parts", [6, 2], partitioner=v1.fixed_size_partitioner(2)))
    rows = tf.gather(whole, ids) * v1.nn.embedding_lookup(parts, ids, partition_strategy="div")
    loss = tf.reduce_sum((rows - 1) ** 2)
    all_of_it = loss + 0.1 * tf.reduce_sum(tf.abs(whole)) + 0.3 * tf.nn.l2_loss(whole)
    step = v1.train.AdagradOptimizer(0.1).minimize(all_of_it)
    with v1.Session() as session:
        begin(session)
        losses = [session.run([all_of_it, step], {ids: [1, number, 1]})[0] for number in range(3)]
        other = tf.reduce_sum(v1.nn.embedding_lookup(parts, [5, 0]))
        late = [loss, all_of_it * 2, loss * tf.reduce_sum(whole**2), other]
        gradients = [one for value in late for one in tf.gradients(value, [whole, *parts])]
        kinds = [type(one).__name__ for one in gradients]
        known = [tf.convert_to_tensor(one) for one in gradients if one is not None]
        return [*losses, *kinds, *session.run(known, {ids: [4, 0, 4]})]


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
