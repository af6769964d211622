"""`migrate checkpoint --to-variables` of a checkpoint of moved graphs, which states names, shapes and slots itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from click.testing import CliRunner

import rewriter
from migrate.cli.checkpoint import checkpoint
from tests.support.rewriter.row_optimizers import OPTIMIZERS

v1 = tf.compat.v1


def losses(optimizer: Callable[[], Any], target: Path, source: Path | None = None) -> list[float]:
    """Train three steps from a checkpoint, or from the beginning, and write another."""
    with tf.Graph().as_default(), v1.Session() as session:
        ids, start = v1.placeholder(tf.int64, [None]), v1.random_normal_initializer(seed=1)
        table = v1.get_variable("tower/table", [20, 4], initializer=start)
        loss = tf.reduce_mean((tf.reduce_sum(tf.gather(table, ids), 1) - 1) ** 2)
        step, saver = optimizer().minimize(loss), v1.train.Saver()
        if source is None:
            session.run(v1.global_variables_initializer())
        else:
            saver.restore(session, str(source))
        found = [float(session.run([loss, step], {ids: [1, 2, at]})[0]) for at in range(3)]
        saver.save(session, str(target), write_meta_graph=False)
    return found


@pytest.mark.parametrize(
    "optimizer",
    [OPTIMIZERS["lazy Adam"], OPTIMIZERS["squares of rows"], lambda: v1.train.MomentumOptimizer(0.1, 0.9)],
    ids=["lazy Adam", "squares", "momentum"],
)
@pytest.mark.one_case
def test_the_original_trains_on(optimizer: Callable[[], Any], tmp_path: Path) -> None:
    losses(optimizer, tmp_path / "stock")
    installed = rewriter.install()
    try:
        losses(optimizer, tmp_path / "moved")
        assert list(installed.tables) == ["tower/table"]
    finally:
        installed.remove()
    done = CliRunner().invoke(checkpoint, [str(tmp_path / "moved"), str(tmp_path / "back"), "--to-variables"])
    assert done.exit_code == 0, done.exception
    stock, back = (tf.train.list_variables(str(tmp_path / name)) for name in ("stock", "back"))
    assert stock == back
    want, found = (losses(optimizer, tmp_path / "next", tmp_path / name) for name in ("stock", "back"))
    np.testing.assert_allclose(found, want, rtol=1e-6)
