"""Programs that save, restore, export and freeze."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from tests.support.installation.setting import Model, Setting, begin, new_graph, program, steps

v1 = tf.compat.v1


def _trained(setting: Setting, saver: Any = None) -> tuple[list[Any], str]:
    """Train a model in the default graph, and save it."""
    model = Model(setting)
    saver = saver or v1.train.Saver()
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        return losses, saver.save(session, str(setting.folder / "model"))


@program
def saver_made_late(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        path = v1.train.Saver().save(session, str(setting.folder / "model"))
        losses += steps(session, model)
    with new_graph():
        model = Model(setting)
        with v1.Session() as session:
            v1.train.Saver().restore(session, path)
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
def only_predicts(setting: Setting) -> list[Any]:
    losses, path = _trained(setting)
    values: list[Any] = []
    for early in (False, True):
        with new_graph():
            model = Model(setting, trained=False)
            saver = v1.train.Saver() if early else None
            with v1.Session() as session:
                if not early:
                    begin(session)
                (saver or v1.train.Saver()).restore(session, path)
                values += session.run([model.out, model.w], {model.ids: [1, 2, 3]})
    return [*losses, *values]


@program
def meta_graph_imported(setting: Setting) -> list[Any]:
    losses, path = _trained(setting)
    with new_graph():
        saver = v1.train.import_meta_graph(f"{path}.meta")
        with v1.Session() as session:
            saver.restore(session, path)
            return [*losses, session.run("out:0", {"ids:0": [1, 2, 3]})]


@program
def frozen(setting: Setting) -> list[Any]:
    model = Model(setting)
    with v1.Session() as session:
        begin(session)
        losses = steps(session, model)
        definition = v1.get_default_graph().as_graph_def()
        constants = v1.graph_util.convert_variables_to_constants(session, definition, ["out"])
    with new_graph():
        tf.import_graph_def(constants, name="")
        with v1.Session() as session:
            return [*losses, session.run("out:0", {"ids:0": [1, 2, 3]})]


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
