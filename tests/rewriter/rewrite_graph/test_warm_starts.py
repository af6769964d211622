"""Variables that start from a checkpoint, from an array, or are set by the author: tables start with the same rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from rewriter.graph.view import GraphView
from rewriter.plan.planner import make_plan
from runtime.checkpoint import CheckpointError
from tests.support.rewriter.compare import DIM, ROWS, head, variable
from tests.support.rewriter.models import OPTIMIZERS

v1 = tf.compat.v1
MATRIX = np.random.default_rng(1).normal(size=(ROWS, DIM)).astype(np.float32)


@pytest.fixture
def checkpoint(tmp_path: Path) -> str:
    """A checkpoint with the variable `old`."""
    with tf.Graph().as_default(), v1.Session() as session:
        old = v1.get_variable("old", initializer=MATRIX)
        session.run(old.initializer)
        return str(v1.train.Saver([old]).save(session, str(tmp_path / "pretrained")))


def _flat(rows: Any) -> Any:
    return tf.reshape(rows, [-1, 3 * DIM])


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("twice", [False, True])
def test_the_rows_are_those_of_the_checkpoint(
    use_resource: bool, twice: bool, graph: tf.Graph, checkpoint: str
) -> None:
    ids = v1.placeholder(tf.int64, [None])
    rows = v1.nn.embedding_lookup(variable(use_resource=use_resource), ids)
    for _ in range(1 + twice):
        v1.train.init_from_checkpoint(checkpoint, {"old": "user"})
    file = make_plan(GraphView(graph.as_graph_def()))
    plan = rewrite(graph)
    assert file.tables[0].initializer == plan.tables[0].initializer != "user/Assign"
    assert len(plan.tables[0].assigned) == 1 + twice, "the initializers that were replaced are ops like others"
    with v1.Session() as session:
        session.run(v1.global_variables_initializer())
        np.testing.assert_array_equal(session.run(rows, {ids: np.arange(ROWS)}), MATRIX)


def _data() -> Any:
    random = np.random.default_rng(3)
    ids, labels = random.integers(0, ROWS, (160, 3)), random.normal(size=(160, 1)).astype(np.float32)
    return tf.data.Dataset.from_tensor_slices(({"ids": ids}, labels)).batch(16)


OLD, NEW = ["ant", "bee", "cat", "dog"], ["dog", "eel", "bee", "fox", "ant"]


def _ending(path: Path, moved: bool, rows: int, **settings: Any) -> Any:
    """Return an Estimator whose model ends with a rewrite, or does not."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        v1.set_random_seed(3)
        table = v1.get_variable("user", [rows, DIM], initializer=v1.constant_initializer(0.25))
        loss, step = head(_flat(v1.nn.embedding_lookup(table, features["ids"] % rows)), labels, OPTIMIZERS["adam"]())
        if moved:
            rewrite()
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=step)

    return tf.estimator.Estimator(model, str(path), **settings)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> dict[bool, str]:
    """Folders of Estimators that were trained, as stock and rewritten."""
    found = {}
    for moved in (False, True):
        found[moved] = str(tmp_path_factory.mktemp("trained"))
        _ending(Path(found[moved]), moved, len(OLD)).train(_data, steps=4)
    return found


def _continued(path: Path, moved: bool, settings: Any, rows: int) -> list[Any]:
    estimator = _ending(path, moved, rows, warm_start_from=settings)
    estimator.train(_data, steps=4)
    return [estimator.evaluate(_data)["loss"], estimator.get_variable_value("user")]


def _vocabulary(tmp_path: Path, **further: Any) -> Any:
    for name, words in (("old", OLD), ("new", NEW)):
        (tmp_path / name).write_text("\n".join(words) + "\n")
    given = {"new_vocab_size": len(NEW), "num_oov_buckets": 2} | further
    return tf.estimator.VocabInfo(str(tmp_path / "new"), old_vocab=str(tmp_path / "old"), **given)


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
@pytest.mark.parametrize("source", [True, False], ids=["from a table", "from a variable"])
@pytest.mark.one_case
def test_rows_go_where_a_new_vocabulary_says(source: bool, trained: Any, tmp_path: Path) -> None:
    known = _vocabulary(tmp_path, backup_initializer=v1.random_normal_initializer(0.5, 0.0))
    stock, moved = (
        _continued(
            tmp_path / str(one),
            one,
            tf.estimator.WarmStartSettings(trained[one and source], var_name_to_vocab_info={"user": known}),
            len(NEW) + 2,
        )
        for one in (False, True)
    )
    for one, other in zip(moved, stock, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-6)


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no tf.estimator from 2.16 on")
@pytest.mark.parametrize(
    ("moved", "further", "says"),
    [
        (False, {}, "`user` has become a table: restore this checkpoint into a graph rewritten"),
        (True, {"num_oov_buckets": 1}, "must number its rows"),
        (True, {"axis": 1}, "must number its rows"),
    ],
    ids=["a variable", "another size", "columns"],
)
def test_a_vocabulary_that_does_not_fit(moved: bool, further: Any, says: str, trained: Any, tmp_path: Path) -> None:
    known = _vocabulary(tmp_path, **further)
    settings = tf.estimator.WarmStartSettings(trained[True], var_name_to_vocab_info={"user": known})
    with pytest.raises(CheckpointError, match=says):
        _continued(tmp_path / "second", moved, settings, len(NEW) + 2)
