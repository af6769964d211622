"""`migrate graph SRC [DST] --verify N`: both graphs run before anything is written."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from rewriter.offline import rewriting
from tests.support.command import invoked

v1 = tf.compat.v1


_run = functools.partial(invoked, "graph")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A MetaGraph of a model that Adam trains."""
    with tf.Graph().as_default():
        table = v1.get_variable("user", [300, 4], use_resource=True)
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None, 2], "ids"))
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.square(rows)))
        v1.train.export_meta_graph(str(tmp_path / "model.meta"))
    return tmp_path / "model.meta"


def test_a_graph_that_differs_is_not_written(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stock = rewriting.rewrite_meta_graph

    def broken(*given: Any) -> Any:
        done = stock(*given)
        (update,) = [node for node in done.content.graph_def.node if node.op == "RecApply"]
        update.attr["starts"].list.f[0] = 0.5
        return done

    monkeypatch.setattr("rewriter.offline.multi_graph.rewrite_meta_graph", broken)
    code, output, _ = _run(file, file.with_name("new.meta"), "--verify", "3")
    assert code == 1
    assert output.startswith("the rewritten graph DIFFERS over 1 step")
    assert "table `user`" in output
    assert not file.with_name("new.meta").exists()


def test_what_cannot_be_made_up_is_an_error(tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        words = v1.placeholder(tf.string, [None], "words")
        ids = tf.strings.to_hash_bucket_fast(words, 30)
        tf.reduce_sum(v1.nn.embedding_lookup(v1.get_variable("user", [30, 4]), ids))
        tf.io.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
    with pytest.raises(MigrateError, match="string values of the placeholder `words` cannot be synthesized"):
        _run(tmp_path / "model.pb", tmp_path / "new.pb", "--verify", "1")
    assert not (tmp_path / "new.pb").exists()
    with pytest.raises(MigrateError, match="--explain does not run the graph; remove --verify"):
        _run(tmp_path / "model.pb", "--explain", "user", "--verify", "1")
