"""Programs about how a model is run: loops that add ops, datasets, hooks, summaries, profiles, scopes, collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program, steps

v1 = tf.compat.v1


@program
def ops_added_in_every_step(setting: Setting) -> list[Any]:
    model, values = Model(setting), []
    with v1.Session() as session:
        begin(session)
        for number in range(5):
            values += steps(session, model, 1)
            values.append(session.run(tf.reduce_mean(tf.nn.embedding_lookup(model.w, [number, 2]))))
            values.append(session.run(tf.reduce_sum(model.w) + number))
        return values


@program
def feedable_iterator(setting: Setting) -> list[Any]:
    train = tf.data.Dataset.from_tensor_slices(np.arange(8)).batch(2).repeat()
    valid = tf.data.Dataset.from_tensor_slices(np.arange(4, 10)).batch(3)
    handle = v1.placeholder(tf.string, [])
    iterator = v1.data.Iterator.from_string_handle(handle, v1.data.get_output_types(train), tf.TensorShape([None]))
    train_iterator, valid_iterator = v1.data.make_one_shot_iterator(train), v1.data.make_initializable_iterator(valid)
    w = setting.variable("w", [30, 4])
    loss = tf.reduce_mean(tf.nn.embedding_lookup(w, iterator.get_next()) ** 2)
    step, losses = v1.train.AdagradOptimizer(0.1).minimize(loss), []
    with v1.Session() as session:
        begin(session)
        handles = session.run([train_iterator.string_handle(), valid_iterator.string_handle()])
        for _ in range(2):
            losses += [session.run([loss, step], {handle: handles[0]})[0] for _ in range(3)]
            session.run(valid_iterator.initializer)
            losses += [session.run(loss, {handle: handles[1]}) for _ in range(2)]
        return losses


@program
def queue_runners(setting: Setting) -> list[Any]:
    queue = v1.train.input_producer(np.arange(9, dtype=np.int32), shuffle=False)
    ids = queue.dequeue_many(3)
    w = setting.variable("w", [30, 4])
    loss = tf.reduce_mean(tf.nn.embedding_lookup(w, ids) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        session.run(v1.local_variables_initializer())
        coordinator = tf.train.Coordinator()
        threads = v1.train.start_queue_runners(session, coordinator)
        losses = [session.run([loss, step])[0] for _ in range(5)]
        coordinator.request_stop()
        coordinator.join(threads, stop_grace_period_secs=5, ignore_live_threads=True)
        return losses


class _Watch(v1.train.SessionRunHook):
    """A hook that builds ops in `begin`, and more that an unfinalized graph takes."""

    def __init__(self, model: Model) -> None:
        self.model, self.seen = model, list[Any]()

    def begin(self) -> None:
        self.norm = tf.norm(self.model.w)
        self.rows = tf.nn.embedding_lookup(self.model.w, [1, 2])

    def after_create_session(self, session: Any, coord: Any) -> None:
        self.seen.append(session.run(self.norm))

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self.model.global_step)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.seen += [run_values.results, *run_context.session.run([self.norm, self.rows])]

    def end(self, session: Any) -> None:
        self.seen.append(session.run(self.model.w))


@program
def hooks_of_monitored_sessions(setting: Setting) -> list[Any]:
    model = Model(setting)
    watch = _Watch(model)
    stop = v1.train.StopAtStepHook(last_step=4)
    with v1.train.MonitoredSession(hooks=[watch, stop]) as session:
        losses = []
        while not session.should_stop():
            losses.append(session.run([model.loss, model.step], {model.ids: [1, 2, 2]})[0])
    return [*losses, *watch.seen]


@program
def scaffold_with_functions(setting: Setting) -> list[Any]:
    model = Model(setting)
    given = v1.placeholder(tf.float32, [30, 4])
    fill = model.w.assign(given)
    scaffold = v1.train.Scaffold(
        init_fn=lambda _, session: session.run(fill, {given: np.full([30, 4], 0.5)}),
        ready_op=v1.report_uninitialized_variables(),
        saver=v1.train.Saver(max_to_keep=1),
    )
    with v1.train.MonitoredTrainingSession(
        scaffold=scaffold, checkpoint_dir=str(setting.folder), log_step_count_steps=None
    ) as session:
        losses = steps(session, model)
    return [*losses, tf.train.load_variable(str(setting.folder), "w")]


@program
def profiled_parameters(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        options = v1.profiler.ProfileOptionBuilder.trainable_variables_parameter()
        options["output"] = "none"
        profile = v1.profiler.profile(v1.get_default_graph(), options=options)
        return [*losses, profile.total_parameters]


@program
def printed_and_computed_by_python(setting: Setting) -> list[Any]:
    model = Model(setting)
    printed = v1.Print(model.loss, [tf.shape(model.w)], "shape: ")
    scaled = v1.py_func(lambda rows: rows * 2, [model.w], tf.float32)
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), *session.run([printed, scaled], {model.ids: [1]})]


@program
def function_with_lookups(setting: Setting) -> list[Any]:
    w, ids = setting.variable("w", [30, 4]), v1.placeholder(tf.int32, [None])

    @tf.function
    def score(ids: Any) -> Any:
        return tf.reduce_sum(tf.nn.embedding_lookup(w, ids), 1)

    loss = tf.reduce_mean((score(ids) - 1) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        return [*(session.run([loss, step], {ids: [1, 2]})[0] for _ in range(3)), session.run(w)]


@program
def tensors_by_name(setting: Setting) -> list[Any]:
    Model(setting)
    graph = v1.get_default_graph()
    with v1.Session() as session:
        session.run(
            "init" if "init" in [op.name for op in graph.get_operations()] else v1.global_variables_initializer()
        )
        losses = [session.run(["Mean:0", "Adagrad"], {"ids:0": [1, n]})[0] for n in range(3)]
        read = graph.get_tensor_by_name("w/Read/ReadVariableOp:0" if setting.resource else "w/read:0")
        return [*losses, session.run(read), session.run(graph.get_tensor_by_name("out:0"), {"ids:0": [1]})]


@program
def function_called_late(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)

        def halved() -> Any:
            return model.w.assign(0.5 * model.w).read_value() if setting.resource else 0.5 * model.w

        values = session.run(tf.function(halved, autograph=False)())
        return [*losses, values, *steps(session, model, 1)]
