"""Savers built before a rewrite, and checkpoints of the model as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from rewriter import rewrite
from tests.support.rewriter.models import OPTIMIZERS, batches, build

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


def test_a_slot_that_is_saved_without_its_variable_is_a_reason(graph: tf.Graph) -> None:
    build()
    (slot,) = (one for one in v1.global_variables() if one.op.name == "model/user/Adagrad")
    v1.train.Saver([slot])
    (refusal,) = rewrite(graph).refusals
    assert "saves or restores its slot `model/user/Adagrad` without the variable" in str(refusal)
