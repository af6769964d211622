"""Graphs in files that compute all rows of a variable, one by one: they read rows of tables, and train on alike."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from rewriter.offline.rewriting import judge_meta_graph, rewrite_meta_graph
from rewriter.proof.in_files import prove_meta_graph
from tests.support import forking
from tests.support.rewriter import offline_run
from tests.support.rewriter.compare import DIM, head, variable

v1 = tf.compat.v1
WHOLES: dict[str, Callable[[Any], Any]] = {
    "padded": lambda table: tf.concat([tf.zeros([1, DIM]), table[1:]], 0),
    "padded behind": lambda table: tf.concat([table, tf.zeros([3, DIM])], 0),
    "scaled": lambda table: tf.identity(table) * 3.0,
    "normalized": lambda table: tf.nn.l2_normalize(table, 1),
}


def meta_graph(whole: Callable[[Any], Any], use_resource: bool = True) -> Any:
    with tf.Graph().as_default():
        v1.set_random_seed(3)
        ids, labels = v1.placeholder(tf.int64, [None, 3], "ids"), v1.placeholder(tf.float32, [None, 1], "labels")
        rows = v1.nn.embedding_lookup(whole(variable(use_resource=use_resource)), ids, name="rows")
        loss, step = head(tf.reshape(rows, [-1, 3 * DIM]), labels, v1.train.AdagradOptimizer(0.1))
        v1.add_to_collection("losses", loss)
        v1.add_to_collection("train_op", step)
        saver = v1.train.Saver().saver_def
        v1.global_variables_initializer()
        return v1.train.export_meta_graph(saver_def=saver)


def trained(folder: Path, meta: Any) -> list[float]:
    (folder / "graph.meta").write_bytes(meta.SerializeToString())
    done = forking.run(offline_run.__file__, folder / "graph.meta", "-", "10", folder / "end")
    assert done.returncode == 0, done.stderr[-3000:]
    losses: list[float] = json.loads(done.stdout.splitlines()[-1])
    return losses


@pytest.mark.parametrize("use_resource", [True, False], ids=["resource", "ref"])
@pytest.mark.parametrize("whole", WHOLES)
def test_it_trains_to_the_same_losses(whole: str, use_resource: bool, tmp_path: Path) -> None:
    meta = meta_graph(WHOLES[whole], use_resource)
    done = rewrite_meta_graph(meta)
    assert [table.name for table in done.plan.tables] == ["user"], done.plan.summary()
    assert [table.name for table in judge_meta_graph(meta).tables] == ["user"]
    nodes = {node.name: node.op for node in done.content.graph_def.node}
    assert "user" not in nodes and nodes["rows"] == "Identity"
    assert trained(tmp_path, done.content) == pytest.approx(trained(tmp_path, meta), rel=1e-5)
    proof = prove_meta_graph(meta, done.content, done.plan, 3)
    assert proof.ok, proof.summary()
