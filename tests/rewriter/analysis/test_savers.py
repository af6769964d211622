"""Savers built before a rewrite, and checkpoints of the model as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from tests.support.rewriter.models import DIM, OPTIMIZERS, ROWS, batches, build

v1 = tf.compat.v1


def _plain(
    path: Path,
    first: int,
    last: int,
    moved: bool,
    optimizer: str = "adam",
    use_resource: bool = True,
    saver_before: bool = True,
    make: Callable[[], Any] = v1.train.Saver,
) -> list[float]:
    """Train steps `first` to `last` in a Session, from the checkpoint of step `first` to that of step `last`."""
    with tf.Graph().as_default() as graph:
        ids, labels, loss, step = build(optimizer, use_resource)
        saver = make() if saver_before else None
        initializer = v1.global_variables_initializer() if saver_before else None
        if moved:
            plan = rewrite(graph)
            assert [table.name for table in plan.tables] == ["model/user"]
        saver, initializer = saver or make(), initializer or v1.global_variables_initializer()
        with v1.Session() as session:
            session.run(initializer)
            if first:
                saver.restore(session, str(path / str(first)))
            losses = [session.run([loss, step], {ids: one, labels: two})[0] for one, two in batches(last)[first:]]
            saver.save(session, str(path / str(last)))
    return [float(one) for one in losses]


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("sharded", [False, True], ids=["whole", "sharded"])
@pytest.mark.one_case
def test_a_saver_built_before_saves_and_restores_the_table(use_resource: bool, sharded: bool, tmp_path: Path) -> None:
    def make() -> Any:
        return v1.train.Saver(sharded=sharded)

    whole = _plain(tmp_path / "stock", 0, 20, False, use_resource=use_resource)
    parts = _plain(tmp_path, 0, 10, True, use_resource=use_resource, make=make)
    parts += _plain(tmp_path, 10, 20, True, use_resource=use_resource, make=make)
    assert parts == pytest.approx(whole, rel=1e-5)
    names = dict(tf.train.list_variables(str(tmp_path / "20")))
    assert names["model/user"] == []
    assert names["model/user-values"] == [ROWS, DIM]
    assert names["model/user-slots"] == [ROWS, 2 * DIM]
    assert "model/user/Adam" not in names
    assert "model/weights/Adam" in names


def test_savers_built_before_and_after_read_each_others_checkpoints(tmp_path: Path) -> None:
    whole = _plain(tmp_path / "stock", 0, 30, False)
    parts = [*_plain(tmp_path, 0, 10, True), *_plain(tmp_path, 10, 20, True, saver_before=False)]
    assert [*parts, *_plain(tmp_path, 20, 30, True)] == pytest.approx(whole, rel=1e-5)


@pytest.mark.parametrize("saver_before", [True, False], ids=["saver before", "saver after"])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_training_goes_on_from_the_model_as_it_was(optimizer: str, saver_before: bool, tmp_path: Path) -> None:
    first = _plain(tmp_path, 0, 20, False, optimizer)
    stock = _plain(tmp_path, 20, 40, False, optimizer)
    moved = _plain(tmp_path, 20, 40, True, optimizer, saver_before=saver_before)
    assert moved == pytest.approx(stock, rel=1e-5)
    assert moved[0] != pytest.approx(first[0], rel=1e-3)


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("own_saver", [True, False])
@pytest.mark.one_case
def test_a_monitored_session_resumes_what_was_trained_without_the_hook(
    own_saver: bool, use_resource: bool, tmp_path: Path
) -> None:
    def run(folder: Path, first: int, last: int, moved: bool) -> list[float]:
        with tf.Graph().as_default():
            ids, labels, loss, step = build("adagrad", use_resource)
            scaffold = v1.train.Scaffold(saver=v1.train.Saver() if own_saver else None)
            hooks = [GraphModifierHook()] if moved else []
            quiet: dict[str, Any] = {"save_summaries_steps": None, "save_summaries_secs": None}
            with v1.train.MonitoredTrainingSession(
                checkpoint_dir=str(folder), scaffold=scaffold, hooks=hooks, **quiet
            ) as session:
                assert not moved or len(hooks[0].plan.tables) == 1
                given = batches(last)[first:]
                return [float(session.run([loss, step], {ids: one, labels: two})[0]) for one, two in given]

    whole = run(tmp_path / "whole", 0, 30, False)
    parts = run(tmp_path / "parts", 0, 10, False) + run(tmp_path / "parts", 10, 20, True)
    assert [*parts, *run(tmp_path / "parts", 20, 30, True)] == pytest.approx(whole, rel=1e-5)


def test_a_saver_of_the_table_alone_under_another_name(tmp_path: Path) -> None:
    def make() -> Any:
        (table,) = (one for one in v1.global_variables() if one.op.name == "model/user")
        return v1.train.Saver({"embedding": table})

    _plain(tmp_path, 0, 10, True, make=make)
    names = dict(tf.train.list_variables(str(tmp_path / "10")))
    assert sorted(names) == [f"embedding{part}" for part in ("", "-keys", "-meta", "-slots", "-values")]
    values = tf.train.load_checkpoint(str(tmp_path / "10")).get_tensor("embedding-values")
    assert np.any(values)


def test_a_checkpoint_of_another_shape_names_the_variable(graph: tf.Graph, tmp_path: Path) -> None:
    with tf.Graph().as_default(), v1.Session() as session:
        other = v1.get_variable("user", [7, DIM], initializer=v1.zeros_initializer())
        session.run(other.initializer)
        v1.train.Saver().save(session, str(tmp_path / "other"))
    table = v1.get_variable("user", [9, DIM])
    v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
    rewrite(graph)
    saver = v1.train.Saver()
    with (
        v1.Session() as session,
        pytest.raises(tf.errors.InvalidArgumentError, match=r"variable `user` does not have the shape \[9, 4\]"),
    ):
        saver.restore(session, str(tmp_path / "other"))


def test_a_slot_that_is_saved_without_its_variable_is_a_reason(graph: tf.Graph) -> None:
    build()
    (slot,) = (one for one in v1.global_variables() if one.op.name == "model/user/Adagrad")
    v1.train.Saver([slot])
    (refusal,) = rewrite(graph).refusals
    assert "saves or restores its slot `model/user/Adagrad` without the variable" in str(refusal)
