"""Programs that differ in how their sessions are made and when they first run."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


@program
def interactive_session(setting: Setting) -> list[Any]:
    session, losses = v1.InteractiveSession(), []
    model = Model(setting)
    v1.global_variables_initializer().run()
    for last in range(3):
        model.step.run({model.ids: [1, 2, last]})
        losses.append(model.loss.eval({model.ids: [1, 2, last]}))
    session.close()
    return losses


@program
def monitored_sessions(setting: Setting) -> list[Any]:
    values = []
    for _ in range(2):
        with new_graph():
            model = Model(setting)
            with v1.train.MonitoredTrainingSession(
                checkpoint_dir=str(setting.folder), save_checkpoint_steps=2, log_step_count_steps=None
            ) as session:
                values += [*steps(session, model, 3), session.run(model.w)]
    return values


@program
def callables(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        session.make_callable(v1.global_variables_initializer())()
        step = session.make_callable([model.loss, model.step], [model.ids])
        values = session.make_callable(model.w)
        return [*(step([1, 2, last])[0] for last in range(4)), values()]


@program
def partial_runs(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        handle = session.partial_run_setup([model.out, model.loss], [model.ids])
        out = session.partial_run(handle, model.out, {model.ids: [1, 2]})
        return [out, session.partial_run(handle, model.loss), *steps(session, model)]


@program
def only_what_is_uninitialized(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        left = [one for one in v1.global_variables() if not session.run(v1.is_variable_initialized(one))]
        session.run(v1.variables_initializer(left))
        return [len(left), *steps(session, model), session.run(v1.report_uninitialized_variables()).tolist()]


@program
def graph_finalized(setting: Setting) -> list[Any]:
    model, init = Model(setting), v1.global_variables_initializer()
    v1.get_default_graph().finalize()
    with v1.Session() as session:
        session.run(init)
        return steps(session, model)


@program
def optimizer_after_the_first_run(setting: Setting) -> list[Any]:
    model = Model(setting, trained=False)
    with v1.Session() as session:
        session.run([model.w.initializer, model.dense.initializer])
        before = set(v1.global_variables()) - {model.global_step}
        model.step = v1.train.AdagradOptimizer(0.1).minimize(model.loss)
        session.run(v1.variables_initializer([one for one in v1.global_variables() if one not in before]))
        return steps(session, model)


@program
def gradients_late(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        gradient = tf.convert_to_tensor(tf.gradients(model.loss, model.w)[0])
        return [*losses, session.run(gradient, {model.ids: [1, 2]})]


@program
def threads(setting: Setting) -> list[Any]:
    model, losses = Model(setting, v1.train.GradientDescentOptimizer(0.1)), []
    with v1.Session() as session:
        begin(session)

        def evaluate() -> None:
            losses.append(session.run(model.loss, {model.ids: [1, 2]}))

        workers = [threading.Thread(target=evaluate) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return [*losses, *steps(session, model)]
