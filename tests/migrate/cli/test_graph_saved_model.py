"""`migrate graph SRC DST` with SavedModels: the directory that it writes, and what may not be replaced."""

from __future__ import annotations

import functools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from migrate.errors import MigrateError
from tests.support.command import invoked

v1 = tf.compat.v1


_run = functools.partial(invoked, "graph")


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
