"""`migrate graph SRC DST`, also with SavedModels: what it writes and refuses; a failure leaves nothing behind."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from rewriter.graph.files import read_graph, read_message
from tests.support.command import invoked
from tests.support.disk_moments import moments

v1 = tf.compat.v1


_run = functools.partial(invoked, "graph")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """A folder with one graph in every kind of file."""
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("model/user", [300, 4], use_resource=True)
        rows = v1.nn.embedding_lookup(table, v1.placeholder(tf.int64, [None]))
        v1.train.AdamOptimizer().minimize(tf.reduce_sum(tf.square(rows)))
        v1.train.Saver().export_meta_graph(str(tmp_path / "model.meta"))
        tf.io.write_graph(graph, str(tmp_path), "model.pb", as_text=False)
        tf.io.write_graph(graph, str(tmp_path), "model.pbtxt")
    return tmp_path


@pytest.mark.parametrize(
    ("source", "target"),
    [("model.meta", "new.meta"), ("model.pb", "new.pb"), ("model.pb", "new.pbtxt"), ("model.pbtxt", "new.pb")],
)
def test_the_result_holds_the_table_and_nothing_is_left_to_move(files: Path, source: str, target: str) -> None:
    before = (files / source).read_bytes()
    code, output, talk = _run(files / source, files / target)
    assert code == 0
    assert output.startswith("`model/user` [300, 4] becomes a table: 1 lookup, adam")
    assert talk.startswith(f"wrote {files / target}: 1 table; removed ")
    assert "next: before loading it in a program, run `import runtime.native; runtime.native.ops()`" in talk
    assert (files / source).read_bytes() == before
    found = read_message(files / target)
    nodes = {node.name for node in (found.graph_def if target.endswith("meta") else found).node}
    assert "recmigrate/model/user" in nodes
    assert "model/user" not in nodes
    assert _run(files / target) == (0, "no variable of the graph is looked up\n", "")
    code, output, talk = _run(files / target, files / f"again{Path(target).suffix}")
    assert (code, talk) == (0, "no variable converts, so nothing was written\n")
    assert not (files / f"again{Path(target).suffix}").exists()


@pytest.mark.parametrize(
    ("source", "target", "message"),
    [
        ("model.meta", "model.meta", "model.meta: is the source itself"),
        ("model.meta", "link.meta", "link.meta: is the source itself"),
        ("model.meta", "new.pb", "new.pb: is a GraphDef by its name, but .*model.meta is a MetaGraphDef"),
        ("model.pb", "model.pbtxt/new.pb", "new.pb: cannot be written"),
        ("empty.pb", "new.pb", "empty.pb holds no graph"),
        ("ckpt.index", "new.meta", "ckpt.index is part of a checkpoint"),
    ],
)
def test_what_cannot_be_is_said_and_nothing_is_written(files: Path, source: str, target: str, message: str) -> None:
    (files / "empty.pb").touch()
    (files / "words.pbtxt").write_text("no such field")
    (files / "ckpt.index").write_bytes(b"\0")
    (files / "meta.pb").write_bytes((files / "model.meta").read_bytes())
    (files / "link.meta").symlink_to("model.meta")
    before = {path.name: path.read_bytes() for path in files.iterdir()}
    with pytest.raises(MigrateError, match=message):
        _run(files / source, files / target)
    assert {path.name: path.read_bytes() for path in files.iterdir()} == before


def test_a_check_that_fails_writes_nothing(files: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from rewriter.checks.invariants import RewriteError

    def fail(*_: Any) -> None:
        raise RewriteError("no")

    monkeypatch.setattr("rewriter.offline.rewriting._check_result", fail)
    with pytest.raises(MigrateError, match="no"):
        _run(files / "model.meta", files / "new.meta")
    assert not (files / "new.meta").exists()


def test_a_run_that_is_killed_leaves_no_half_of_a_file(files: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    kept, copies = {path.name for path in files.iterdir()}, tmp_path_factory.mktemp("copies")
    for turn in ("new", "again"):
        found = moments(lambda: _run(files / "model.meta", files / "new.meta"), files, copies / turn)
        # A temporary file, its mode and its name, for the graph and for the manifest.
        assert len(found) > 6
        for folder in found:
            assert turn == "new" or (folder / "new.meta").exists()
            if (folder / "new.meta").exists():
                assert "recmigrate/model/user" in {node.name for node in read_graph(folder / "new.meta").node}
            left = {path.name for path in folder.iterdir()} - kept - {"new.meta", ".recmigrate.json"}
            assert all(name.startswith(".") and name.endswith(".tmp") for name in left)
    assert {path.name for path in files.iterdir()} == kept | {"new.meta", ".recmigrate.json"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """A SavedModel with the graphs `serve` and `serve,tuned`."""
    builder = v1.saved_model.Builder(str(tmp_path / "source"))
    for tags in (["serve"], ["serve", "tuned"]):
        with tf.Graph().as_default(), v1.Session() as session:
            ids = v1.placeholder(tf.int64, [None], "ids")
            scores = tf.reduce_sum(v1.nn.embedding_lookup(v1.get_variable("user", [30, 4]), ids), 1)
            session.run(v1.global_variables_initializer())
            signature = {"serving_default": v1.saved_model.predict_signature_def({"ids": ids}, {"scores": scores})}
            if "tuned" in tags:
                builder.add_meta_graph(tags, signature)
            else:
                builder.add_meta_graph_and_variables(session, tags, signature)
    builder.save()
    return tmp_path / "source"


def _scores(path: Path, *tags: str) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        meta = v1.saved_model.load(session, list(tags), str(path))
        name = meta.signature_def["serving_default"].outputs["scores"].name
        return session.run(name, {"ids:0": [3, 29, 3]})


def _content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_both_graphs_are_written_and_judged(source: Path) -> None:
    before, content = _scores(source, "serve"), _content(source)
    target = source.with_name("target")
    code, output, talk = _run(source, target)
    assert code == 0
    assert output.splitlines()[0] == "graph tagged `serve`:"
    assert output.splitlines()[2] == "graph tagged `serve,tuned`:"
    assert output.count("`user` [30, 4] becomes a table: 1 lookup") == 2
    assert f"wrote {target}: 1 table" in talk
    assert f"then `tf.compat.v1.saved_model.load(session, tags, '{target}')`" in talk
    assert _content(source) == content
    for tags in (["serve"], ["serve", "tuned"]):
        np.testing.assert_array_equal(_scores(target, *tags), before)
    assert {path.name for path in source.parent.iterdir()} == {"source", "target"}
    code, output, _ = _run(target, "--json")
    assert code == 0
    assert {tags: plan["tables"] for tags, plan in json.loads(output).items()} == {"serve": [], "serve,tuned": []}
    assert _run(source / "saved_model.pb", "--explain", "ids")[0] == 0


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("source", "source: is the source itself"),
        ("source/within", "within: overlaps with the source"),
        (".", "overlaps with the source"),
        ("new.meta", "new.meta: is a MetaGraphDef by its name, but .*source is a SavedModel; give a directory"),
        ("file", "file: is a file; give a directory"),
    ],
)
def test_a_place_that_may_not_be_taken_is_said(source: Path, target: str, message: str) -> None:
    (source.parent / "file").write_text("mine")
    content = _content(source.parent)
    with pytest.raises(MigrateError, match=message):
        _run(source, source.parent / target, "--force")
    assert _content(source.parent) == content


def test_a_checkpoint_that_cannot_be_read_leaves_nothing(source: Path) -> None:
    (data,) = (source / "variables").glob("*.data-*")
    data.write_bytes(data.read_bytes()[:-100])
    with pytest.raises(MigrateError, match=r"the variables in .*source/variables cannot be read: "):
        _run(source, source.with_name("target"))
    assert {path.name for path in source.parent.iterdir()} == {"source"}
