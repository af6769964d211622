"""The user's line that built an op: compared with the line that really did."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from rewriter.graph.source_trace import source_of, sources_of
from tests.support.paths import ROOT
from tests.support.rewriter import traced as trace_models
from tests.support.rewriter.traced import line_of

v1 = tf.compat.v1


def of(mark: str, function: str) -> str:
    return f"tests/support/rewriter/traced.py:{line_of(mark)} in {function}"


@pytest.fixture(autouse=True)
def _above_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)


def ids() -> Any:
    return v1.placeholder(tf.int64, [None, 3])


def test_a_function_of_another_module(graph: tf.Graph) -> None:
    trace_models.plain(ids())
    assert source_of(graph.get_operation_by_name("plain")) == of("plain variable", "plain")
    assert source_of(graph.get_operation_by_name("plain_rows")) == of("plain lookup", "_looked_up")


def test_an_update_has_the_line_that_minimizes(graph: tf.Graph) -> None:
    loss = tf.reduce_sum(trace_models.plain(ids()))
    v1.train.AdagradOptimizer(0.1).minimize(loss, name="step")  # the step
    line = next(i for i, text in enumerate(Path(__file__).read_text().splitlines(), 1) if text.endswith("# the step"))
    sources = sources_of(graph, ["plain/Adagrad", "step", "no such op"])
    expected = f"tests/rewriter/graph/test_source_trace.py:{line} in test_an_update_has_the_line_that_minimizes"
    assert sources == {"plain/Adagrad": expected, "step": expected}


def test_a_feature_column(graph: tf.Graph) -> None:
    sparse = v1.sparse_placeholder(tf.int64, [None, 3])
    trace_models.column(sparse)
    (variable,) = (op for op in graph.get_operations() if op.type in ("VarHandleOp", "VariableV2"))
    assert source_of(variable) == of("column", "column")


@pytest.mark.skipif(not hasattr(v1.keras.layers, "Embedding"), reason="Keras 3 has no layers for v1 graphs")
def test_a_keras_layer(graph: tf.Graph) -> None:
    rows = trace_models.keras_layer(ids())
    (variable,) = (op for op in graph.get_operations() if op.type == "VarHandleOp")
    assert {source_of(variable), source_of(rows.op)} == {of("layer", "keras_layer")}


def test_a_partitioned_variable(graph: tf.Graph) -> None:
    trace_models.partitioned(ids())
    variables = [op for op in graph.get_operations() if op.type in ("VarHandleOp", "VariableV2")]
    assert [source_of(op) for op in variables] == [of("parts", "partitioned")] * 2
    assert source_of(graph.get_operation_by_name("rows")) == of("parts lookup", "partitioned")


def test_the_path_is_whole_outside_of_the_working_directory(
    graph: tf.Graph, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    trace_models.plain(ids())
    monkeypatch.chdir(tmp_path)
    source = source_of(graph.get_operation_by_name("plain"))
    assert source == f"{trace_models.__file__}:{line_of('plain variable')} in plain"


def test_an_imported_op_has_none(graph: tf.Graph) -> None:
    trace_models.plain(ids())
    with tf.Graph().as_default() as other:
        tf.import_graph_def(graph.as_graph_def(), name="")
    assert source_of(other.get_operation_by_name("plain")) is None
    assert sources_of(other, ["plain"]) == {}


def test_code_made_of_text_counts_when_there_is_no_other(graph: tf.Graph) -> None:
    one = "def made(name):\n    return tf.constant(1.0, name=name)"
    made: dict[str, Any] = {"tf": tf}
    exec(compile(one, "<string>", "exec"), made)
    made["made"]("first")  # made here
    lines = Path(__file__).read_text().splitlines()
    line = next(number for number, text in enumerate(lines, 1) if text.endswith("# made here"))
    assert str(source_of(graph.get_operation_by_name("first"))).startswith(
        f"tests/rewriter/graph/test_source_trace.py:{line} in"
    )
