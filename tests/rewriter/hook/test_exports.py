"""What an Estimator does beside the graph that GraphModifierHook trains: exports, scores over all rows, values."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from runtime.table import exporters

v1 = tf.compat.v1
pytestmark = pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
USERS, ITEMS, DIM = 12, 15, 4


def _model(features: Any, labels: Any, mode: str) -> Any:
    user = v1.get_variable("user", [USERS, DIM], initializer=v1.random_normal_initializer(seed=1))
    item = v1.get_variable("item", [ITEMS, DIM], initializer=v1.random_normal_initializer(seed=2))
    query = tf.identity(tf.nn.embedding_lookup(user, features["user"]))
    if mode == "infer":
        return tf.estimator.EstimatorSpec(mode, predictions={"scores": tf.matmul(query, item, transpose_b=True)})
    scores = tf.reduce_sum(query * tf.nn.embedding_lookup(item, features["item"]), 1)
    loss = tf.reduce_mean((scores - labels) ** 2)
    step = v1.train.AdagradOptimizer(0.5).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def _data() -> Any:
    random = np.random.default_rng(0)
    features = {"user": random.integers(0, USERS, 64), "item": random.integers(0, ITEMS, 64)}
    return tf.data.Dataset.from_tensor_slices((features, random.normal(size=64).astype(np.float32))).batch(16)


def _asked() -> Any:
    return tf.data.Dataset.from_tensors({"user": np.arange(USERS)})


def _served() -> Any:
    return tf.estimator.export.build_raw_serving_input_receiver_fn({"user": v1.placeholder(tf.int64, [None])})()


def _hooks(moved: bool) -> Any:
    return [GraphModifierHook()] if moved else []


def _scores(folder: Any) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        signature = v1.saved_model.load(session, ["serve"], folder).signature_def["serving_default"]
        names = [next(iter(ends.values())).name for ends in (signature.outputs, signature.inputs)]
        return session.run(names[0], {names[1]: np.arange(USERS)})


def _said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Return what was said of exports: before which `:` stands what exports."""
    return [one.getMessage().split(":")[0] for one in caplog.records if "load their operations" in one.getMessage()]


@pytest.mark.parametrize("kind", ["LatestExporter", "FinalExporter", "BestExporter"])
@pytest.mark.one_case
def test_exporters_beside_the_hook(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exporters, "_told", [])
    found = []
    for moved in (False, True):
        estimator = tf.estimator.Estimator(_model, str(tmp_path / str(moved)))
        exporter = getattr(tf.estimator, kind)("served", _served)
        training = tf.estimator.TrainSpec(_data, max_steps=4, hooks=_hooks(moved))
        evaluation = tf.estimator.EvalSpec(_data, hooks=_hooks(moved), exporters=exporter)
        _, (folder,) = tf.estimator.train_and_evaluate(estimator, training, evaluation)
        found.append(_scores(folder.decode()))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)
    assert "user-values" in dict(tf.train.list_variables(f"{folder.decode()}/variables/variables"))
    assert _said(caplog) == ["the exporter `served`"]


def test_that_exports_need_the_library_is_said_before_the_first_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class First(v1.train.SessionRunHook):  # type: ignore[misc]
        def after_create_session(self, session: Any, coord: Any) -> None:
            assert _said(caplog) == ["the exporter `served`"]

    monkeypatch.setattr(exporters, "_told", [])
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    evaluation = tf.estimator.EvalSpec(
        _data, hooks=_hooks(True), exporters=tf.estimator.FinalExporter("served", _served)
    )
    training = tf.estimator.TrainSpec(_data, max_steps=1, hooks=[*_hooks(True), First()])
    tf.estimator.train_and_evaluate(estimator, training, evaluation)


def test_an_export_without_an_exporter_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(exporters, "_told", [])
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    estimator.train(_data, hooks=_hooks(True), steps=1)
    assert not _said(caplog)
    estimator.export_saved_model(str(tmp_path / "served"), _served)
    assert _said(caplog) == ["`export_saved_model`"]


@pytest.mark.soak
def test_a_two_tower_predicts_over_all_items(tmp_path: Path) -> None:
    found, hooks = [], [[], _hooks(True), [GraphModifierHook(tables=["user"])]]
    for moved in (False, True):
        estimator = tf.estimator.Estimator(_model, str(tmp_path / str(moved)))
        estimator.train(_data, hooks=_hooks(moved))
        for own in hooks[1:] if moved else hooks[:1]:
            found.append(np.array([one["scores"] for one in estimator.predict(_asked, hooks=own)]))
    np.testing.assert_allclose(found[1], found[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-4, atol=1e-5)
    with pytest.raises(tf.errors.OpError, match="restore this checkpoint into a graph rewritten"):
        list(estimator.predict(_asked))


def test_training_on_with_fewer_tables_says_what_helps(tmp_path: Path) -> None:
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    estimator.train(_data, hooks=_hooks(True), steps=1)
    with pytest.raises(
        tf.errors.OpError, match="`item` is a table in the checkpoint, but still a variable in this graph"
    ):
        estimator.train(_data, hooks=[GraphModifierHook(tables=["user"])], steps=1)


def test_rows_of_other_ids_are_no_array(tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        user = v1.get_variable("user", [USERS, DIM])
        rows = tf.nn.embedding_lookup(user, [USERS + 5])
        step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
        rewrite()
        saver = v1.train.Saver()
        session.run(v1.global_variables_initializer())
        session.run(step)
        path = saver.save(session, str(tmp_path / "m"))
    with pytest.raises(ValueError, match="`user` has become a table whose ids are not 0 to 12"):
        tf.train.load_variable(path, "user")
