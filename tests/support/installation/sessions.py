"""Programs that differ in their sessions, and in how they save, restore, keep and export."""

from __future__ import annotations

import threading
from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


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


@program
def saver_with_other_names(setting: Setting) -> list[Any]:
    model = Model(setting)
    saver = v1.train.Saver({"other": model.w})
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = saver.save(session, str(setting.folder / "model"))
        losses += steps(session, model)
        saver.restore(session, path)
        return [*losses, session.run(model.w), *steps(session, model)]


@program
def checkpoint_of_the_original(setting: Setting) -> list[Any]:
    model, path = Model(setting), str(setting.shared / "model")
    if not setting.installed:
        with v1.Session() as session:
            begin(session)
            steps(session, model)
            v1.train.Saver().save(session, path)
    with v1.Session() as session:
        v1.train.Saver().restore(session, path)
        return steps(session, model)


@program
def simply_saved(setting: Setting) -> list[Any]:
    model, folder = Model(setting), str(setting.folder / "export")
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        v1.saved_model.simple_save(session, folder, {"ids": model.ids}, {"out": model.out})
    with new_graph(), v1.Session() as session:
        v1.saved_model.load(session, ["serve"], folder)
        values = session.run(["out:0", *v1.global_variables()], {"ids:0": [1, 2, 3]})
    return [*losses, *values, tf.train.list_variables(f"{folder}/variables/variables")]


@program
def training_goes_on_from_a_meta_graph(setting: Setting) -> list[Any]:
    model = Model(setting)
    v1.add_to_collection("train", model.step)
    v1.add_to_collection("loss", model.loss)
    saver = v1.train.Saver()
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = saver.save(session, str(setting.folder / "model"))
    with new_graph():
        saver = v1.train.import_meta_graph(f"{path}.meta")
        (step,), (loss,) = v1.get_collection("train"), v1.get_collection("loss")
        with v1.Session() as session:
            saver.restore(session, path)
            losses += [session.run([loss, step], {"ids:0": [n, 2]})[0] for n in range(3)]
            rows = [one for one in v1.trainable_variables() if one.op.name == "w"]
            return [*losses, *session.run(rows)]
