"""Programs that start from checkpoints in which variables are tables, and that read these and slots by themselves."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


def _saved(setting: Setting, optimizer: Any = None) -> tuple[list[Any], str]:
    model = Model(setting, optimizer)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        return losses, v1.train.Saver().save(session, str(setting.folder / "model"))


def _trained(model: Any) -> list[Any]:
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w), session.run(v1.global_variables())]


@program
def warm_started_by_patterns(setting: Setting) -> list[Any]:
    values, path = _saved(setting)
    for chosen in (".*", ["w"], [".*"]):
        with new_graph():
            model = Model(setting)
            v1.train.warm_start(path, vars_to_warm_start=chosen)
            values += _trained(model)
    with new_graph():
        with v1.variable_scope("other"):
            model = Model(setting)
        v1.train.warm_start(path, "other/w", var_name_to_prev_var_name={"other/w": "w"})
        return values + _trained(model)


@program
def warm_started_by_vocabulary(setting: Setting) -> list[Any]:
    values, path = _saved(setting)
    old, new = setting.folder / "old.txt", setting.folder / "new.txt"
    old.write_text("\n".join(f"word{number}" for number in range(30)))
    new.write_text("\n".join(f"word{number}" for number in (5, 3, 99, 1, 0, 77, 2, 8)))
    for buckets in (0, 2):
        with new_graph():
            w, ids = setting.variable("w", [8 + buckets, 4]), v1.placeholder(tf.int32, [None])
            loss = tf.reduce_mean((tf.gather(w, ids) - 1) ** 2)
            step = v1.train.AdagradOptimizer(0.1).minimize(loss)
            words = v1.train.VocabInfo(str(new), 8, buckets, str(old), backup_initializer=v1.zeros_initializer())
            v1.train.warm_start(path, "w", {"w": words})
            with v1.Session() as session:
                begin(session)
                values += [session.run(w), *(session.run([loss, step], {ids: [n, 2]})[0] for n in range(3))]
                values.append(session.run(w))
    return values


def _in_parts(setting: Setting) -> tuple[Any, Any, Any]:
    with v1.variable_scope("p", partitioner=v1.fixed_size_partitioner(3)):
        w = v1.get_variable("w", [10, 4], use_resource=setting.resource)
    ids = v1.placeholder(tf.int32, [None])
    return w, ids, tf.reduce_mean((tf.nn.embedding_lookup(w, ids) - 1) ** 2)


@program
def parts_saved_read_and_started(setting: Setting) -> list[Any]:
    w, ids, loss = _in_parts(setting)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        values = [session.run([loss, step], {ids: [n, 5, 2]})[0] for n in range(3)]
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
        values += session.run(v1.global_variables())
    reader = tf.train.load_checkpoint(path)
    values += [sorted(reader.get_variable_to_shape_map()), *map(reader.get_tensor, ["p/w", "p/w/Adagrad"])]
    with new_graph():
        w, ids, loss = _in_parts(setting)
        v1.train.init_from_checkpoint(path, {"p/w": list(w)})
        step = v1.train.AdagradOptimizer(0.1).minimize(loss)
        with v1.Session() as session:
            begin(session)
            values += [session.run([loss, step], {ids: [n, 5, 2]})[0] for n in range(3)]
    with new_graph():
        whole = setting.variable("p/w", [10, 4])
        v1.train.init_from_checkpoint(path, {"p/": "p/"})
        with v1.Session() as session:
            begin(session)
            return [*values, session.run(whole)]


@program
def trained_as_a_whole_from_a_table(setting: Setting) -> list[Any]:
    losses, path = _saved(setting)
    with new_graph():
        model = Model(setting, trained=False)
        scores = tf.matmul(tf.tanh(tf.matmul(model.w, model.dense)), tf.matmul(model.w, model.dense), transpose_a=True)
        model.loss += tf.reduce_mean(scores)
        model.step, saver = v1.train.AdagradOptimizer(0.1).minimize(model.loss), v1.train.Saver()
        with v1.Session() as session:
            saver.restore(session, path)
            return [*losses, *steps(session, model), session.run(model.w)]


@program
def slots_kept_by_the_program(setting: Setting) -> list[Any]:
    optimizer = v1.train.AdamOptimizer(0.1)
    model = Model(setting, optimizer)
    with v1.Session() as session:
        begin(session)
        slots = [optimizer.get_slot(model.w, name) for name in ("m", "v")]
        values = [*session.run(slots), *steps(session, model), *session.run(slots)]
        kept = {variable: session.run(variable) for variable in v1.global_variables()}
        values += steps(session, model)
        for variable, value in kept.items():
            variable.load(value, session)
        values += steps(session, model)
        some = v1.train.Saver(slots)
        path = some.save(session, str(setting.folder / "slots"))
        session.run(v1.variables_initializer(optimizer.variables()))
        values += steps(session, model)
        some.restore(session, path)
        session.run([one.assign(kept[one]) for one in slots])
        return [*values, *steps(session, model), sorted(name for name, _ in tf.train.list_variables(path))]


@program
def elements_fed(setting: Setting) -> list[Any]:
    elements = tf.data.Dataset.from_tensor_slices((np.arange(24) % 7, np.arange(24) % 2)).batch(3).repeat()
    iterator = v1.data.make_initializable_iterator(elements)
    ids, labels = iterator.get_next()
    w = setting.variable("w", [30, 4])
    loss = tf.reduce_mean((tf.gather(w, ids % 5) - tf.cast(labels, tf.float32)[:, tf.newaxis]) ** 2)
    step = v1.train.AdamOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        session.run(iterator.initializer)
        values = [session.run([loss, step])[0] for _ in range(2)]
        values.append(session.run([loss, step], {ids: np.array([1, 2]), labels: np.array([1, 0])})[0])
        values.append(session.run(loss, {ids: np.array([1, 2, 8])}))
        values.append(session.make_callable([loss, step], [ids, labels])(np.array([4, 6]), np.array([0, 1]))[0])
        handle = session.partial_run_setup([loss], [ids])
        values.append(session.partial_run(handle, loss, {ids: np.array([3, 3, 9])}))
        return [*values, session.run([ids, labels]), session.run(w)]
