"""Programs about how a model is run: loops that add ops, datasets, hooks, summaries, profiles, scopes, collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

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
def graph_reset_in_a_loop(setting: Setting) -> list[Any]:
    values = []
    graph = tf.Graph()
    for rate in (0.1, 0.5):
        with graph.as_default() if rate < 0.2 else tf.Graph().as_default():
            v1.set_random_seed(3)
            model = Model(setting, v1.train.AdagradOptimizer(rate))
            with v1.Session() as session:
                begin(session)
                values.append(steps(session, model))
    return values


@program
def folds_in_graphs_of_their_own(setting: Setting) -> list[Any]:
    values = []
    for fold in range(3):
        with tf.Graph().as_default(), v1.Session() as session:
            v1.set_random_seed(fold)
            model = Model(setting, v1.train.AdamOptimizer(0.05))
            begin(session)
            values.append([*steps(session, model), session.run(model.out, {model.ids: [fold]})])
    return values


class _Recommender:
    """A class with its own graph and session, as many repositories have it."""

    def __init__(self, setting: Setting) -> None:
        self.graph = tf.Graph()
        with self.graph.as_default():
            v1.set_random_seed(1)
            self.model = Model(setting, v1.train.MomentumOptimizer(0.05, 0.9))
            self.init = v1.global_variables_initializer()
            self.saver = v1.train.Saver()
        self.session = v1.Session(graph=self.graph)
        self.session.run(self.init)

    def fit(self) -> list[Any]:
        return steps(self.session, self.model)

    def vectors(self) -> Any:
        return self.session.run(self.model.w)


@program
def session_in_an_attribute(setting: Setting) -> list[Any]:
    first, second = _Recommender(setting), _Recommender(setting)
    losses = [*first.fit(), *second.fit(), *first.fit()]
    path = first.saver.save(first.session, str(setting.folder / "model"))
    second.saver.restore(second.session, path)
    return [*losses, first.vectors(), second.vectors(), second.fit()]


@program
def dataset_initialized_again(setting: Setting) -> list[Any]:
    given = v1.placeholder(tf.int64, [None])
    iterator = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(given).batch(2))
    ids = iterator.get_next()
    w = setting.variable("w", [30, 4])
    loss = tf.reduce_mean(tf.nn.embedding_lookup(w, ids) ** 2)
    step, losses = v1.train.AdagradOptimizer(0.1).minimize(loss), []
    with v1.Session() as session:
        begin(session)
        for epoch in range(3):
            session.run(iterator.initializer, {given: np.arange(epoch, 6)})
            while True:
                try:
                    losses.append(session.run([loss, step])[0])
                except tf.errors.OutOfRangeError:
                    break
        return [*losses, session.run(w)]


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
def structured_iterator(setting: Setting) -> list[Any]:
    data = tf.data.Dataset.from_tensor_slices({"user": np.arange(6) % 4, "label": np.ones(6, np.float32)})
    train, test = (data.map(dict).batch(size).repeat() for size in (2, 3))
    iterator = v1.data.Iterator.from_structure(v1.data.get_output_types(train), v1.data.get_output_shapes(train))
    batch = iterator.get_next()
    to_train, to_test = iterator.make_initializer(train), iterator.make_initializer(test)
    rows = tf.nn.embedding_lookup(setting.variable("users", [30, 4]), batch["user"])
    loss = tf.reduce_mean((tf.reduce_sum(rows, 1) - batch["label"]) ** 2)
    step = v1.train.AdamOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        session.run(to_train)
        losses = [session.run([loss, step])[0] for _ in range(4)]
        session.run(to_test)
        return [*losses, *(session.run(loss) for _ in range(2))]


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
def session_manager(setting: Setting) -> list[Any]:
    model, saver, init = Model(setting), v1.train.Saver(), v1.global_variables_initializer()
    manager = v1.train.SessionManager()
    losses = []
    for _ in range(2):
        session = manager.prepare_session("", init_op=init, saver=saver, checkpoint_dir=str(setting.folder))
        losses += steps(session, model)
        saver.save(session, str(setting.folder / "model"), global_step=model.global_step)
        session.close()
    return losses


@program
def summaries_written_with_the_graph(setting: Setting) -> list[Any]:
    model = Model(setting)
    v1.summary.scalar("loss", model.loss)
    v1.summary.histogram("rows", model.rows)
    merged = v1.summary.merge_all()
    writer = v1.summary.FileWriter(str(setting.folder), v1.get_default_graph())
    with v1.Session() as session:
        begin(session)
        for number in range(3):
            text, _ = session.run([merged, model.step], {model.ids: [1, number]})
            writer.add_summary(text, number)
        writer.add_graph(session.graph)
        writer.close()
    (path,) = setting.folder.glob("events*")
    events = list(v1.train.summary_iterator(str(path)))
    return [[value.simple_value for value in event.summary.value] for event in events if event.HasField("summary")]


@program
def run_metadata(setting: Setting) -> list[Any]:
    model, metadata = Model(setting), v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    with v1.Session() as session:
        begin(session)
        loss, _ = session.run([model.loss, model.step], {model.ids: [1, 2]}, options=options, run_metadata=metadata)
        return [loss, len(metadata.step_stats.dev_stats) > 0, *steps(session, model)]


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
def reused_scopes(setting: Setting) -> list[Any]:
    ids, others = v1.placeholder(tf.int32, [None]), v1.placeholder(tf.int32, [None])
    values = []
    for given in (ids, others):
        with v1.variable_scope("towers", reuse=v1.AUTO_REUSE):
            values.append(tf.nn.embedding_lookup(setting.variable("w", [30, 4]), given))
    loss = tf.reduce_mean((tf.reduce_sum(values[0] * values[1], 1) - 1) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    feeds = {ids: [1, 2], others: [2, 3]}
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, step], feeds)[0] for _ in range(3)]
        with v1.variable_scope("towers", reuse=True):
            again = setting.variable("w", [30, 4])
        return [*losses, session.run(again), session.run(tf.nn.embedding_lookup(again, [5]))]


@program
def custom_getter(setting: Setting) -> list[Any]:
    def own(getter: Any, name: str, *arguments: Any, **named: Any) -> Any:
        variable = getter(name, *arguments, **named)
        v1.add_to_collection("mine", variable)
        return variable * 0.5 if name.endswith("scaled") else variable

    ids = v1.placeholder(tf.int32, [None])
    with v1.variable_scope("model", custom_getter=own):
        w = setting.variable("w", [30, 4])
        scale = setting.variable("scaled", [4])
    loss = tf.reduce_mean((tf.nn.embedding_lookup(w, ids) * scale - 1) ** 2)
    step = v1.train.AdagradOptimizer(0.1).minimize(loss)
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, step], {ids: [1, 2]})[0] for _ in range(3)]
        return [*losses, *session.run(v1.get_collection("mine"))]


@program
def collections(setting: Setting) -> list[Any]:
    model = Model(setting)
    for tensor in (model.loss, model.out, model.w):
        v1.add_to_collection("outputs", tensor)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        return [*losses, *session.run(v1.get_collection("outputs"), {model.ids: [3]})]


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
def default_session(setting: Setting) -> list[Any]:
    model, session = Model(setting), v1.Session()
    with session.as_default():
        v1.global_variables_initializer().run()
        values = [model.loss.eval({model.ids: [1]}), model.w.eval()]
        model.step.run({model.ids: [1]})
        return [*values, model.w.eval(), tf.reduce_max(model.w).eval(), session.close()]


@program
def graph_and_session_by_hand(setting: Setting) -> list[Any]:
    graph = tf.Graph()
    with graph.as_default():
        v1.set_random_seed(1)
        model = Model(setting)
    with v1.Session(graph=graph) as session:
        with graph.as_default():
            begin(session)
        losses = steps(session, model)
    with new_graph() as other, v1.Session(graph=other) as session:
        definition = graph.as_graph_def()
        return [*losses, len(definition.node) > 10]
