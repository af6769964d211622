"""Tables whose rows begin on demand, are limited, on disk or admitted late, in the place of variables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from rewriter.facts import Refusal
from rewriter.installation.usage import Usage, summary
from rewriter.plan.lines import stay_lines
from rewriter.table_settings import TableSettings, called

v1 = tf.compat.v1


@pytest.mark.parametrize("tables", [3, "user", ["user", 3]])
@pytest.mark.parametrize(
    "call", [rewriter.rewrite, rewriter.install, rewriter.GraphModifierHook], ids=["rewrite", "install", "hook"]
)
def test_names_of_tables_are_a_list(call: Any, tables: Any) -> None:
    with pytest.raises(ValueError, match='must be "auto" or a list of names of variables'):
        call(tables=tables)


def test_what_is_rewritten_is_a_graph() -> None:
    with pytest.raises(ValueError, match=r"`graph`: got .model\.meta., must be a v1 graph"):
        rewriter.rewrite("model.meta")  # type: ignore[arg-type]


def test_rows_of_a_given_matrix_do_not_begin_on_demand() -> None:
    with tf.Graph().as_default() as graph:
        ids = v1.placeholder(tf.int64, [None])
        table = v1.get_variable("table", initializer=np.arange(12.0, dtype=np.float32).reshape(3, 4))
        loss = tf.reduce_mean(tf.nn.embedding_lookup(table, ids))
        v1.train.GradientDescentOptimizer(0.1).minimize(loss)
        with pytest.raises(ValueError, match="rows of `table` cannot begin on demand, because"):
            rewriter.rewrite(graph, settings={"table": {"first_rows": "on demand"}})


def test_a_proof_needs_a_table_that_trains_as_the_variable() -> None:
    with pytest.raises(ValueError, match="settings of `a`: with values: float16 training differs"):
        rewriter.GraphModifierHook(verify=3, settings={"a": {"values": "float16"}})
    with pytest.raises(ValueError, match="must be a dict of names"):
        rewriter.rewrite(tf.Graph(), settings=["a"])  # type: ignore[arg-type]


def test_a_layer_of_keras_takes_settings_with_all_rows(tmp_path: Path) -> None:
    keras = tf.keras
    disk = {"disk": str(tmp_path), "memory_bytes": 4096}
    installed = rewriter.install(settings={"on_disk*": disk, "late*": {"admit_after": 2}})
    try:
        for name in ("on_disk", "late"):
            keras.layers.Embedding(3000, 4, name=name)(tf.zeros([1, 2], tf.int64))
    finally:
        installed.remove()
    assert [name for name in installed.tables if "on_disk" in name]
    (stays,) = installed.stay.values()
    assert "late" in stays.table and "its settings ask for rows that begin on demand" in stays.reason


def test_lines_call_a_variable_of_one_part_as_its_settings_do() -> None:
    graph = tf.Graph()
    with graph.as_default():
        one = v1.get_variable("one/part_0", [18, 4])
        tf.constant(0, name="one")  # an op has the name that the table would have
        tf.nn.embedding_lookup(one, v1.placeholder(tf.int64, [None]))
    tables = rewriter.rewrite(graph, dry_run=True).tables
    assert [table.name for table in tables] == ["one/part_0"]
    said = summary(tables, 0, Usage(), {"one": TableSettings(), "on*/part_0": TableSettings(), "no": TableSettings()})
    assert "  one [18, 4]: " in said and "`one` can grow" in said
    assert [line for line in said.splitlines() if "no table" in line] == ["  settings of `no`: no table has this name"]
    assert list(called(["a/part_0", "a/part_1", "b/part_0"]).values()) == ["a/part_0", "a/part_1", "b"]
    refusals = [Refusal(name, "why") for name in ("a/part_0", "b/part_0", "b/part_1")]
    assert stay_lines(refusals) == ["`a`, `b/part_0`, `b/part_1` stay variables: why"]
