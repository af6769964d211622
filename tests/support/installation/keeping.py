"""Programs that keep checkpoints as people do: by names, scopes, rounds, and exports of several kinds."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


@program
def restored_by_matching_names(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
    known = {name for name, _ in tf.train.list_variables(path)}
    with new_graph():
        with v1.variable_scope("extra"):
            more = setting.variable("more", [3])
        model = Model(setting)
        there = [one for one in v1.global_variables() if one.op.name in known]
        with v1.Session() as session:
            begin(session)
            v1.train.Saver(there).restore(session, path)
            return [*losses, *steps(session, model), session.run(more)]


@program
def started_from_a_checkpoint(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        v1.train.Saver().save(session, str(setting.folder / "model"))
    with new_graph():
        with v1.variable_scope("second"):
            model = Model(setting)
        v1.train.init_from_checkpoint(str(setting.folder), {"w": "second/w", "dense": "second/dense"})
        with v1.Session() as session:
            begin(session)
            return [*losses, *steps(session, model), session.run(model.w)]


@program
def numpy_archive(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        values = {
            one.op.name: value
            for one, value in zip(v1.global_variables(), session.run(v1.global_variables()), strict=True)
        }
        np.savez(setting.folder / "all.npz", **{name.replace("/", "|"): value for name, value in values.items()})
    with new_graph():
        model = Model(setting)
        archive = np.load(setting.folder / "all.npz")
        with v1.Session() as session:
            begin(session)
            for one in v1.global_variables():
                one.load(archive[one.op.name.replace("/", "|")], session)
            return [*losses, *steps(session, model)]


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


@program
def loop_of_a_meta_graph(setting: Setting) -> list[Any]:
    w, ids = setting.variable("w", [30, 4]), v1.placeholder(tf.int32, [None], name="ids")
    rows = tf.map_fn(lambda one: tf.gather(w, one), ids, tf.float32)
    scaled = tf.cond(tf.size(ids) > 1, lambda: rows * 2 + tf.gather(w, ids), lambda: rows)
    loss = tf.reduce_sum(tf.identity(scaled, name="scaled") ** 2)
    step, saver = v1.train.AdagradOptimizer(0.1).minimize(loss), v1.train.Saver()
    with v1.Session() as session:
        begin(session)
        losses = [session.run([loss, step], {ids: [number, 2]})[0] for number in range(3)]
        path = saver.save(session, str(setting.folder / "model"))
    with new_graph(), v1.Session() as session:
        v1.train.import_meta_graph(f"{path}.meta").restore(session, path)
        return [*losses, session.run("scaled:0", {"ids:0": [1, 2]}), session.run("scaled:0", {"ids:0": [2]})]
