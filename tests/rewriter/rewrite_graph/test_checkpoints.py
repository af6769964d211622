"""What a checkpoint of a rewritten graph gives whoever reads it, with the rewriter and without."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from rewriter import rewrite
from runtime.checkpoint import CheckpointError
from runtime.checkpoint.bundle import Bundle, write_bundle

v1 = tf.compat.v1
ROWS, DIM = 30, 4
WHY = "the variable `user` has become a table: restore this checkpoint into a graph rewritten"
both_kinds = pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])


def _build(use_resource: bool = True, trains: bool = True, partitioner: Any = None) -> tuple[Any, Any, Any]:
    """Build a model; return ids, rows and train op."""
    v1.set_random_seed(3)
    ids = v1.placeholder(tf.int64, [None], "ids")
    starts = v1.random_normal_initializer(stddev=0.3)
    user = v1.get_variable("user", [ROWS, DIM], initializer=starts, use_resource=use_resource, partitioner=partitioner)
    rows = v1.nn.embedding_lookup(user, ids, partition_strategy="div")
    step = v1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(rows**2)) if trains else tf.no_op()
    return ids, tf.identity(rows), step


def _trained(path: Path, **built: Any) -> tuple[str, Any]:
    """Train the rewritten model; return its checkpoint and its rows."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        ids, rows, step = _build(**built)
        assert rewrite(graph).tables
        session.run(v1.global_variables_initializer())
        for _ in range(5):
            session.run(step, {ids: [1, 2, 2, 7]})
        return str(v1.train.Saver().save(session, str(path / "model"))), session.run(rows, {ids: np.arange(ROWS)})


def _as_before(path: str) -> str:
    """Write a checkpoint as the rewriter wrote them before: the variable as an empty tensor."""
    bundle = Bundle(path)
    tensors = {name: bundle.read(name) for name in bundle.shapes}
    write_bundle(f"{path}-before", tensors | {"user": np.zeros([0, DIM], np.float32)})
    return f"{path}-before"


@both_kinds
@pytest.mark.parametrize("trains", [True, False], ids=["to train", "to look up"])
@pytest.mark.parametrize("partitioner", [None, v1.fixed_size_partitioner(3)], ids=["whole", "parts"])
def test_a_graph_that_was_not_rewritten_cannot_restore(
    use_resource: bool, trains: bool, partitioner: Any, tmp_path: Path
) -> None:
    path, _ = _trained(tmp_path, use_resource=use_resource, partitioner=partitioner)
    with tf.Graph().as_default(), v1.Session() as session:
        _build(use_resource, trains, partitioner)
        saver = v1.train.Saver()
        with pytest.raises(tf.errors.OpError, match=WHY):
            saver.restore(session, path)


@both_kinds
@pytest.mark.parametrize("written", [str, _as_before], ids=["now", "before"])
def test_init_from_a_checkpoint(use_resource: bool, written: Callable[[str], str], tmp_path: Path) -> None:
    path, expected = _trained(tmp_path, use_resource=use_resource)
    with tf.Graph().as_default() as graph, v1.Session() as session:
        ids, rows, _ = _build(use_resource)
        with pytest.raises(CheckpointError, match=f"{WHY}.*, before the warm start"):
            v1.train.init_from_checkpoint(written(path), {"user": "user"})
        rewrite(graph)
        v1.train.init_from_checkpoint(written(path), {"user": "user"})
        session.run(v1.global_variables_initializer())
        np.testing.assert_array_equal(session.run(rows, {ids: np.arange(ROWS)}), expected)
