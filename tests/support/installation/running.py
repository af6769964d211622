"""Programs about how a model is run: loops that add ops, datasets, hooks, summaries, profiles, scopes, collections."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, program, steps

v1 = tf.compat.v1


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
def function_called_late(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)

        def halved() -> Any:
            return model.w.assign(0.5 * model.w).read_value() if setting.resource else 0.5 * model.w

        values = session.run(tf.function(halved, autograph=False)())
        return [*losses, values, *steps(session, model, 1)]
