"""Exports, evaluations and canned models of Estimators beside the hook."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
import runtime
from rewriter import GraphModifierHook, rewrite
from runtime.table import create

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
    monkeypatch.setattr(create, "_told", [])
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

    monkeypatch.setattr(create, "_told", [])
    estimator = tf.estimator.Estimator(_model, str(tmp_path))
    evaluation = tf.estimator.EvalSpec(
        _data, hooks=_hooks(True), exporters=tf.estimator.FinalExporter("served", _served)
    )
    training = tf.estimator.TrainSpec(_data, max_steps=1, hooks=[*_hooks(True), First()])
    tf.estimator.train_and_evaluate(estimator, training, evaluation)


def test_an_export_without_an_exporter_says_what_it_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(create, "_told", [])
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


ROWS = 20


def _evaluated_data() -> Any:
    ids = np.random.default_rng(0).integers(0, ROWS, 64)
    return tf.data.Dataset.from_tensor_slices((ids, (ids % 7).astype(np.float32))).repeat(3).batch(16)


def _losses(folder: Path, training: bool, evaluating: bool, inside: tuple[str, ...] = (), first: bool = False) -> Any:
    """Return the losses in memory; with hooks in training and evaluation, and rewrite() in model_fn in these modes."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        zeros = v1.zeros_initializer()
        table = v1.get_variable("emb", [ROWS, 1], initializer=zeros, partitioner=v1.fixed_size_partitioner(2))
        scores = tf.nn.embedding_lookup(table, features)[:, 0] + v1.get_variable("bias", [], initializer=zeros)
        loss = tf.reduce_mean((scores - labels) ** 2)
        step = v1.train.AdagradOptimizer(1.0).minimize(loss, v1.train.get_global_step())
        if mode in inside:
            rewriter.rewrite()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model, str(folder))
    own = [rewriter.GraphModifierHook()] if evaluating else []
    evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _evaluated_data, hooks=own, every_n_iter=5)
    found, run = [], estimator._evaluate_run

    def noted(*arguments: Any, **named: Any) -> Any:
        found.append(run(*arguments, **named)["loss"])
        return {"loss": found[-1]}

    estimator._evaluate_run = noted
    hooks = [rewriter.GraphModifierHook()] if training else []
    estimator.train(_evaluated_data, hooks=[evaluator, *hooks] if first else [*hooks, evaluator], steps=10)
    return found


@pytest.mark.parametrize(
    ("how", "reason"),
    [
        ((True, False), "the variable `emb`, which is a table in training: give it hooks="),
        ((False, False, ("eval",)), "the table `emb`, which is not a table in training: rewrite both"),
    ],
    ids=["training alone", "evaluation's model_fn alone"],
)
@pytest.mark.one_case
def test_initial_rows_are_refused_before_the_first_step(how: Any, reason: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=reason):
        _losses(tmp_path, *how)


def _own_losses(folder: Path, **place: Any) -> tuple[list[float], float]:
    """Return the losses in memory of a program with a table, before, while and after it trains, and the last anew."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        table = runtime.create_table(tf.int64, 1, "emb", v1.zeros_initializer(), **place)
        rows = runtime.sparse_lookup(table, features, is_train=mode == "train")
        loss = tf.reduce_mean((rows[:, 0] - labels) ** 2)
        step = None
        if mode == "train":
            optimizer = runtime.optimizers.adagrad.create_hash_optimizer(1.0)
            pairs = optimizer.compute_gradients(loss, [table.variable])
            step = tf.group(optimizer.apply_gradients(pairs), v1.assign_add(v1.train.get_global_step(), 1))
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    estimator = tf.estimator.Estimator(model, str(folder))
    evaluator = tf.estimator.experimental.InMemoryEvaluatorHook(estimator, _evaluated_data, every_n_iter=4)
    found, run = [], estimator._evaluate_run

    def noted(**named: Any) -> Any:
        found.append(run(**named)["loss"])
        return {"loss": found[-1]}

    estimator._evaluate_run = noted
    estimator.train(_evaluated_data, hooks=[evaluator])
    estimator._evaluate_run = run
    return found, estimator.evaluate(_evaluated_data)["loss"]


def test_rows_of_a_table_of_the_program(tmp_path: Path) -> None:
    found, last = _own_losses(tmp_path)
    assert found[-1] == pytest.approx(last) and found[-1] < 0.5 * found[0]


@pytest.mark.soak
def test_rows_that_train_on_a_device_are_evaluated(tmp_path: Path) -> None:
    found, _ = _own_losses(tmp_path / "device", device="/cpu:0", device_vocabulary_size=ROWS)
    assert found == _own_losses(tmp_path / "host")[0]


_columns = tf.feature_column
_STEPS = 6


def _canned_data() -> Any:
    random = np.random.default_rng(0)
    features = {name: random.integers(0, 20, 64) for name in ("user", "item")}
    labels = random.integers(0, 2, 64).astype(np.int32)
    return tf.data.Dataset.from_tensor_slices((features, labels)).repeat().batch(16)


def _linear() -> list[Any]:
    return [
        *(_columns.categorical_column_with_identity(name, 20) for name in ("user", "item")),
        _columns.crossed_column(["user", "item"], 40),
    ]


def _deep() -> list[Any]:
    starts = v1.truncated_normal_initializer(stddev=0.3, seed=5)
    identity = _columns.categorical_column_with_identity
    return [_columns.embedding_column(identity(name, 20), 4, initializer=starts) for name in ("user", "item")]


_ESTIMATORS: dict[str, tuple[Callable[[Any], Any], int]] = {
    "linear": (lambda config: v1.estimator.LinearClassifier(_linear(), config=config), 3),
    "dnn": (lambda config: v1.estimator.DNNClassifier([8], _deep(), config=config), 2),
    "wide and deep": (
        lambda config: v1.estimator.DNNLinearCombinedClassifier(
            linear_feature_columns=_linear(), dnn_feature_columns=_deep(), dnn_hidden_units=[8], config=config
        ),
        5,
    ),
}


class _Losses(v1.train.SessionRunHook):  # type: ignore[misc]
    """Keeps the loss of each step, which canned Estimators put into a collection of losses."""

    def __init__(self) -> None:
        self.found: list[float] = []

    def begin(self) -> None:
        self._loss = v1.get_collection(v1.GraphKeys.LOSSES)[-1]

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs(self._loss)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.found.append(float(run_values.results))


def _trained(make: Callable[[Any], Any], hooks: list[Any], folder: str) -> list[float]:
    """Train in two calls, so that a checkpoint is written and read; return the losses and that of an evaluation."""
    config = v1.estimator.RunConfig(tf_random_seed=3, model_dir=folder)
    estimator, losses = make(config), _Losses()
    for steps in (_STEPS // 2, _STEPS):
        estimator.train(_canned_data, hooks=[*hooks, losses], max_steps=steps)
    return [*losses.found, estimator.evaluate(_canned_data, steps=2, hooks=hooks)["loss"]]


@pytest.mark.parametrize("kind", _ESTIMATORS)
@pytest.mark.one_case
def test_trains_and_evaluates_as_without_the_hook(kind: str, tmp_path: Any) -> None:
    make, tables = _ESTIMATORS[kind]
    hook = GraphModifierHook()
    stock = _trained(make, [], str(tmp_path / "stock"))
    moved = _trained(make, [hook], str(tmp_path / "moved"))
    assert hook.plan is not None
    assert (len(hook.plan.tables), hook.plan.refusals) == (tables, ()), hook.plan.summary()
    np.testing.assert_allclose(moved, stock, rtol=2e-5)


def _copied_model(features: Any, labels: Any, mode: str) -> Any:
    table = v1.get_variable("emb", [ROWS, 2], initializer=v1.random_normal_initializer(seed=1))
    loss = tf.reduce_mean((tf.reduce_sum(tf.nn.embedding_lookup(table, features), 1) - labels) ** 2)
    step = v1.train.AdagradOptimizer(0.5).minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)


def _copied_data() -> Any:
    ids = np.random.default_rng(0).integers(0, ROWS, 64)
    return tf.data.Dataset.from_tensor_slices((ids, (ids % 7).astype(np.float32))).batch(16)


def test_variables_with_copies_stay_and_say_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A process whose devices are known cannot have a second one made of its processor any more.
    monkeypatch.setattr(tf.distribute.MirroredStrategy, "num_replicas_in_sync", 2)
    strategy = tf.distribute.MirroredStrategy(["/cpu:0"])
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=strategy)
    with caplog.at_level(logging.WARNING, "rewriter"):
        tf.estimator.Estimator(_copied_model, config=config).train(_copied_data, hooks=[GraphModifierHook()])
    assert "`emb` stays a variable: MirroredStrategy copies it to each of 2 replicas" in caplog.text
    assert dict(tf.train.list_variables(str(tmp_path)))["emb"] == [ROWS, 2]
