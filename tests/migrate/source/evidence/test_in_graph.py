"""What becomes of variables that graphs of a run move, beside what the source says of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from migrate.report.model import Applicability, State
from migrate.source.files.conversion_result import SourceResult
from migrate.trace.record import Record, Variable
from tests.support.source.projects import write
from tests.support.source.runs import convert_with, record

HEAD = "import tensorflow.compat.v1 as tf\n\ntf.disable_eager_execution()\n"
UNSEEN = {
    "main.py": HEAD + 'W = tf.get_variable("item", [100, 4])\ne = look["up"](W, ids)\n'
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\nembedding_lookup()\n"
}
COLUMN = {
    "main.py": HEAD + 'id = tf.feature_column.categorical_column_with_identity("item", 100)\n'
    "column = tf.feature_column.embedding_column(id, 4, initializer=mine)\n"
    "rows = tf.feature_column.input_layer(features, [column])\n"
    "step = tf.train.AdagradOptimizer(0.1).minimize(loss)\nget_variable()\nembedding_lookup()\n"
}
SEVERAL = {
    "main.py": HEAD + 'W = {k: tf.get_variable(k, [100, 4], initializer=values) for k in ["item", "user"]}\n'
    'e = tf.nn.embedding_lookup(W["item"], ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n'
}


def _with(one: Record, variables: Sequence[Variable]) -> Record:
    return replace(one, graphs=(replace(one.graphs[0], variables=tuple(variables)),))


def _table(results: dict[str, SourceResult]) -> tuple[str, State, Applicability | None]:
    (table,) = results["main.py"].tables
    return table.name, table.verdict, table.applicability


def test_a_variable_of_which_the_source_shows_no_lookup(tmp_path: Path) -> None:
    results = convert_with(write(tmp_path / "p", UNSEEN), record(UNSEEN))
    assert _table(results) == ("item", State.APPLIED, Applicability.IN_GRAPH)
    (table,) = results["main.py"].tables
    assert (table.location.line, table.rows, table.dim) == (4, "100", "4")
    assert 'rewriter.install(tables=["item"])' in results["main.py"].converted
    assert convert_with(tmp_path / "p", record(UNSEEN, table="", stays="it is read"))["main.py"].tables == ()


def test_a_column_is_known_by_the_name_of_its_variable(tmp_path: Path) -> None:
    one = record(COLUMN)
    (made,) = one.graphs[0].variables
    name = "input_layer/item_embedding/embedding_weights"
    run = _with(one, [replace(made, name=name, table=name, made=(("main.py", 6),))])
    results = convert_with(write(tmp_path / "p", COLUMN), run)
    assert _table(results)[1:] == (State.APPLIED, Applicability.IN_GRAPH)
    assert f'rewriter.install(tables=["{name}"])' in results["main.py"].converted


def test_a_table_of_a_program_that_did_not_run_is_not_meant(tmp_path: Path) -> None:
    """Its name may be a scope of the one that ran, such as `linear`."""
    other = HEAD + (
        'W = tf.get_variable("linear", [100, 4], initializer=values)\n'
        "e = tf.nn.embedding_lookup(W, ids)\nstep = tf.train.AdagradOptimizer(0.1).minimize(loss)\n"
    )
    run = record(UNSEEN)
    (variable,) = run.graphs[0].variables
    run = _with(run, [replace(variable, name="linear/weights", table="linear/weights")])
    results = convert_with(write(tmp_path / "p", {**UNSEEN, "other.py": other}), run)
    assert _table(results) == ("linear/weights", State.APPLIED, Applicability.IN_GRAPH)
    (table,) = results["other.py"].tables
    assert table.applicability is not Applicability.IN_GRAPH


@pytest.mark.parametrize(("stays", "moves"), [("", True), ("it is scattered", False)])
def test_all_variables_of_a_place_move_or_none(stays: str, moves: bool, tmp_path: Path) -> None:
    one = record(SEVERAL)
    (made,) = one.graphs[0].variables
    other = replace(made, name="user", table="" if stays else "user", stays=stays)
    results = convert_with(write(tmp_path / "p", SEVERAL), _with(one, [made, other]))
    assert (_table(results)[2] is Applicability.IN_GRAPH) is moves
    assert ('tables=["item", "user"]' in results["main.py"].converted) is moves


def test_where_no_line_is_written(tmp_path: Path) -> None:
    root = write(tmp_path / "p", UNSEEN)
    one = record(UNSEEN)
    for results in (
        convert_with(root, one, ignore=("in-graph",)),
        convert_with(root, one, target="rec_sdk"),
        convert_with(root, replace(one, ended="by ValueError")),
        convert_with(root, replace(one, entry="other.py")),
    ):
        assert results["main.py"].tables == () and not results["main.py"].changed
    written = {"main.py": UNSEEN["main.py"] + "import rewriter\nrewriter.install(every=2)\n"}
    results = convert_with(write(tmp_path / "q", written), record(written))
    assert not results["main.py"].changed
