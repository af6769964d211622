"""Programs that keep checkpoints as people do: by names, scopes, rounds, and exports of several kinds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


@program
def saver_of_trainable_variables(setting: Setting) -> list[Any]:
    model = Model(setting)
    saver = v1.train.Saver(v1.trainable_variables())
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = saver.save(session, str(setting.folder / "model"))
        losses += steps(session, model)
        saver.restore(session, path)
        kept = [(name, shape) for name, shape in tf.train.list_variables(path)]
        return [*losses, *steps(session, model), sorted(name for name, _ in kept if "-" not in name)]


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
def restored_by_matching_shapes(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
    with new_graph():
        model = Model(setting)
        reader = v1.train.NewCheckpointReader(path)
        shapes = reader.get_variable_to_shape_map()
        there = [one for one in v1.trainable_variables() if shapes.get(one.op.name) == one.shape.as_list()]
        with v1.Session() as session:
            begin(session)
            v1.train.Saver(there).restore(session, path)
            return [*losses, *steps(session, model), len(there)]


@program
def scopes_renamed(setting: Setting) -> list[Any]:
    with v1.variable_scope("old"):
        model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
    with new_graph():
        with v1.variable_scope("new"):
            model = Model(setting)
        names = {one.op.name.replace("new", "old"): one for one in v1.trainable_variables()}
        with v1.Session() as session:
            begin(session)
            v1.train.Saver(names).restore(session, path)
            return [*losses, *steps(session, model)]


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
def started_from_a_checkpoint_of_the_original(setting: Setting) -> list[Any]:
    path = str(setting.shared / "model")
    if not setting.installed:
        with new_graph():
            model = Model(setting)
            with v1.Session() as session:
                begin(session)
                steps(session, model)
                v1.train.Saver().save(session, path)
    model = Model(setting)
    v1.train.init_from_checkpoint(path, {"w": "w", "dense": model.dense})
    with v1.Session() as session:
        begin(session)
        return [*steps(session, model), session.run(model.w)]


@program
def rows_read_from_a_checkpoint_and_assigned(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
    with new_graph():
        model, reader = Model(setting), tf.train.load_checkpoint(path)
        with v1.Session() as session:
            begin(session)
            for variable in v1.trainable_variables():
                session.run(variable.assign(reader.get_tensor(variable.op.name)))
            return [*losses, *steps(session, model), reader.get_tensor("w")]


@program
def many_checkpoints(setting: Setting) -> list[Any]:
    model, saver = Model(setting), v1.train.Saver(max_to_keep=2, keep_checkpoint_every_n_hours=1)
    with v1.Session() as session:
        begin(session)
        losses = []
        for number in range(4):
            losses += steps(session, model, 2)
            saver.save(session, str(setting.folder / "model"), global_step=number, write_meta_graph=False)
        paths = saver.last_checkpoints
        saver.restore(session, paths[0])
        return [*losses, session.run(model.w), [Path(path).name for path in paths], *steps(session, model)]


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
def model_built_by_a_builder(setting: Setting) -> list[Any]:
    model, folder = Model(setting), str(setting.folder / "export")
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        signature = v1.saved_model.predict_signature_def({"ids": model.ids}, {"out": model.out})
        builder = v1.saved_model.Builder(folder)
        builder.add_meta_graph_and_variables(
            session, ["serve"], {"serving_default": signature}, main_op=v1.tables_initializer()
        )
        builder.save()
        losses += steps(session, model)
    with new_graph(), v1.Session() as session:
        meta = v1.saved_model.loader.load(session, ["serve"], folder)
        signature = meta.signature_def["serving_default"]
        out = session.run(signature.outputs["out"].name, {signature.inputs["ids"].name: [1, 2]})
        return [*losses, out]


@program
def constants_of_several_outputs(setting: Setting) -> list[Any]:
    model = Model(setting)
    top = tf.nn.top_k(tf.matmul(model.rows, model.w, transpose_b=True), 2, name="top")
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        definition = session.graph.as_graph_def()
        constants = v1.graph_util.convert_variables_to_constants(session, definition, ["out", "top"])
        path = tf.io.write_graph(constants, str(setting.folder), "frozen.pb", as_text=False)
    with new_graph():
        definition = v1.GraphDef.FromString(Path(path).read_bytes())
        out, values = tf.import_graph_def(definition, return_elements=["out:0", "top:0"])
        with v1.Session() as session:
            return [*losses, *session.run([out, values], {"import/ids:0": [1, 2]}), top.values.shape.as_list()]


@program
def graph_exported_after_training(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        v1.train.Saver().save(session, str(setting.folder / "model"))
        v1.train.export_meta_graph(str(setting.folder / "again.meta"), clear_devices=True)
    with new_graph():
        saver = v1.train.import_meta_graph(str(setting.folder / "again.meta"))
        with v1.Session() as session:
            if saver is None:
                saver = v1.train.Saver()
            saver.restore(session, str(setting.folder / "model"))
            names = sorted(one.name for one in v1.trainable_variables())
            return [*losses, session.run("out:0", {"ids:0": [1]}), names]


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
def graph_without_training_between(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        with tf.Graph().as_default(), v1.Session() as other:
            losses.append(other.run(tf.reduce_sum(tf.gather(tf.constant(np.ones([4, 2], np.float32)), [1, 2]))))
        return [*losses, *steps(session, model)]


@program
def cosine_neighbours_of_validation(setting: Setting) -> list[Any]:
    model = Model(setting)
    norm = tf.sqrt(tf.reduce_sum(tf.square(model.w), 1, keepdims=True))
    normalized = model.w / norm
    similarity = tf.matmul(tf.nn.embedding_lookup(normalized, tf.constant([3, 4])), normalized, transpose_b=True)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        return [*losses, similarity.eval(session=session), normalized.eval(session=session)]


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
