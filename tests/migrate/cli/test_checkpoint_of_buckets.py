"""`migrate checkpoint --to-variables` of tables whose ids gave up their buckets: what a variable has room for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from migrate.cli.checkpoint import checkpoint
from migrate.cli.main import cli
from migrate.errors import MigrateError

tf = pytest.importorskip("tensorflow")

import runtime  # noqa: E402 - it needs TensorFlow
from runtime.checkpoint.bundle import write_bundle  # noqa: E402
from runtime.checkpoint.meta_layout import layout_of  # noqa: E402
from tests.support.rewriter.bucketed import (  # noqa: E402
    BATCHES,
    MATRIX,
    MIXED,
    TEXTS,
    WAYS,
    Model,
    moved,
    plainly,
)

v1 = tf.compat.v1
#: Words that no batch has.
OTHERS = np.array([f"w{number}" for number in range(40, 400)])
FORMS = {"hashed": WAYS["fast"], "words": MIXED["words and buckets"], "Keras": MIXED["strings of Keras"]}
PROGRAM = """import tensorflow.compat.v1 as tf
table = tf.get_variable("table", [11, 4])
rows = tf.nn.embedding_lookup(table, tf.strings.to_hash_bucket_fast(words, 11))
step = tf.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
"""
OPTIMIZERS = {"adagrad": v1.train.AdagradOptimizer, "adam": v1.train.AdamOptimizer}


def spread(table: Any, ids: Any) -> Any:
    """Look up as TensorFlow 1 does where it is not told otherwise: id i is in part i mod the number of parts."""
    return v1.nn.embedding_lookup(table, ids, partition_strategy="mod")


def ran(path: Path, form: str, optimizer: str, source: str, batches: Any, free: bool, parts: int = 0) -> Any:
    """Train from a checkpoint, or from the beginning, and save; return buckets and rows of all words."""
    with tf.Graph().as_default(), v1.Session() as session:
        look = spread if parts > 1 else plainly
        model = Model(FORMS[form], MATRIX, look, OPTIMIZERS[optimizer], parts)
        buckets = model.buckets
        if free:
            moved(model)
        session.run(model.begin)
        if source:
            model.saver.restore(session, source)
        model.train(session, batches)
        model.saver.save(session, str(path))
        words = {model.words: np.concatenate([TEXTS, OTHERS])}
        rows = session.run(model.rows, words)
        return None if free else session.run(buckets, words), rows


def back(folder: Path, old: str, *more: str) -> Any:
    return CliRunner().invoke(checkpoint, [str(folder / old), str(folder / "back"), "--to-variables", "--force", *more])


def tensors(path: Path) -> dict[str, Any]:
    reader = tf.train.load_checkpoint(str(path))
    return {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.one_case
def test_the_rows_of_buckets_come_back(form: str, optimizer: str, tmp_path: Path) -> None:
    buckets, _ = ran(tmp_path / "stock", form, optimizer, "", BATCHES, free=False)
    ran(tmp_path / "moved", form, optimizer, str(tmp_path / "stock"), [], free=True)
    result = back(tmp_path, "moved")
    assert result.exit_code == 0, result.exception
    stock, found = tensors(tmp_path / "stock"), tensors(tmp_path / "back")
    assert stock.keys() == found.keys()
    for name, value in stock.items():  # nothing was learned since
        np.testing.assert_array_equal(found[name], value, err_msg=name)

    _, rows = ran(tmp_path / "trained", form, optimizer, str(tmp_path / "moved"), BATCHES, free=True)
    trained = tensors(tmp_path / "trained")
    layout = layout_of(trained["table-meta"]).buckets
    keys = trained["table-keys"]
    is_word = (keys >= 0) & (keys < layout.start)
    apart = int((~is_word & (keys > -(2**62))).sum())
    refused = back(tmp_path, "trained")
    assert isinstance(refused.exception, MigrateError)
    assert f"and {apart} of these rows do not fit into a variable: give --bucket-rows" in str(refused.exception)
    result = back(tmp_path, "trained", "--bucket-rows")
    assert result.exit_code == 0, result.exception
    assert f"table has the rows of the buckets of table; the rows of {apart} single ids are left out" in result.output
    found = tensors(tmp_path / "back")
    learned = np.isin(np.arange(len(MATRIX)), keys[is_word])
    assert learned.any() == (form != "hashed")
    places = np.flatnonzero(np.concatenate([learned[buckets[: len(TEXTS)]], np.ones(len(OTHERS), bool)]))
    np.testing.assert_array_equal(found["table"][buckets[places]], rows[places])
    assert len(ran(tmp_path / "next", form, optimizer, str(tmp_path / "back"), BATCHES, free=False)[1]) == len(rows)


@pytest.mark.parametrize("parts", [1, 2])
def test_a_variable_in_parts_becomes_the_base_and_comes_back(parts: int, tmp_path: Path) -> None:
    """Of several parts, by the command: the graph keeps such buckets, as ids are divided into the parts, too."""
    _, rows = ran(tmp_path / "stock", "hashed", "adagrad", "", BATCHES, free=False, parts=parts)
    (tmp_path / "model.py").write_text(PROGRAM)
    report = str(tmp_path / "r.json")
    CliRunner().invoke(cli, ["convert", str(tmp_path / "model.py"), "--unbucket", "all", "--report", report])
    given = ["--report", report, *(["--parts", f"table={parts}"] if parts > 1 else [])]
    result = CliRunner().invoke(checkpoint, [str(tmp_path / "stock"), str(tmp_path / "new"), *given])
    assert result.exit_code == 0, result.exception
    _, free = ran(tmp_path / "moved", "hashed", "adagrad", str(tmp_path / "new"), [], free=True)
    np.testing.assert_array_equal(free, rows)
    assert back(tmp_path, "moved", *given).exit_code == 0
    _, again = ran(tmp_path / "next", "hashed", "adagrad", str(tmp_path / "back"), [], free=False, parts=parts)
    np.testing.assert_array_equal(again, rows)
    assert tensors(tmp_path / "back").keys() == tensors(tmp_path / "stock").keys()


def test_what_cannot_come_back_says_why(tmp_path: Path) -> None:
    assert str(
        CliRunner().invoke(checkpoint, [str(tmp_path / "a"), str(tmp_path / "b"), "--bucket-rows"]).exception
    ).startswith("--bucket-rows is an option of --to-variables")
    write_bundle(str(tmp_path / "like"), {"table": MATRIX})
    with tf.Graph().as_default(), v1.Session() as session:
        table = runtime.create_table(tf.int64, 4, "table", v1.zeros_initializer(), base_buckets=len(MATRIX))
        used, begun = runtime.sparse_lookup(table, [3, 200]), runtime.set_base(table, MATRIX)
        forgotten, saver = runtime.forget_base(table), v1.train.Saver()
        session.run(v1.global_variables_initializer())
        for op, name in ((begun, "whole"), (used, "trained"), (forgotten, "forgotten")):
            session.run(op)
            saver.save(session, str(tmp_path / name))
    like = ["--like", str(tmp_path / "like")]
    assert back(tmp_path, "whole", *like).exit_code == 0
    np.testing.assert_array_equal(tensors(tmp_path / "back")["table"], MATRIX)
    message = str(back(tmp_path, "forgotten", "--bucket-rows", *like).exception)
    assert "2 of these rows do not fit into a variable" in message and "before forget_base" in message
    older = tensors(tmp_path / "trained")
    older["table-meta"] = np.array([2, *older["table-meta"][1:5]])
    write_bundle(str(tmp_path / "older"), older)
    assert "had: restore it in the converted" in str(back(tmp_path, "older", *like).exception)
