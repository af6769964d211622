"""The work of a rewrite grows with ops and tables, not with their product: lines run are counted, not seconds."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest
import tensorflow as tf

from rewriter import move_ids, rewrite
from rewriter.record import record
from tests.support.paths import ROOT

pytestmark = pytest.mark.one_version

v1 = tf.compat.v1
_OURS = (f"{ROOT}/rewriter/", f"{ROOT}/runtime/")


def _build(tables: int, optimizer: str) -> None:
    """Build a model whose every update depends on all tables, with a Saver, and an op that waits for every variable."""
    columns = {str(number): [["7", "8"]] * 6 for number in range(tables)}
    batch = v1.data.make_initializable_iterator(tf.data.Dataset.from_tensor_slices(columns).batch(3)).get_next()
    rows, checked = [], tf.no_op()
    for number in range(tables):
        ids = tf.strings.to_number(batch[str(number)], tf.int64)
        table = v1.get_variable(f"table_{number}", [20, 4], use_resource=number % 2 == 0)
        with tf.control_dependencies([checked]):
            found = v1.nn.embedding_lookup(table, ids)
        v1.summary.histogram(f"rows_{number}", table)
        rows.append(tf.reshape(found, [-1, 8]))
    weights = v1.get_variable("weights", [tables * 8, 1], use_resource=True)
    loss = tf.reduce_mean(tf.square(tf.tanh(tf.concat(rows, 1)) @ weights))
    getattr(v1.train, f"{optimizer}Optimizer")(0.1).minimize(loss)
    v1.global_variables_initializer()
    v1.train.Saver()


def _lines(body: Callable[[], Any]) -> int:
    """Return how many lines of this project `body` runs; each round of a loop or a comprehension counts."""
    count = 0

    def line(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line

    def called(frame: FrameType, *_: Any) -> Any:
        return line if frame.f_code.co_filename.startswith(_OURS) else None

    before = sys.gettrace()
    sys.settrace(called)
    try:
        body()
    finally:
        sys.settrace(before)
    return count


def _work(tables: int, optimizer: str) -> int:
    with tf.Graph().as_default() as graph:
        _build(tables, optimizer)

        def rewritten() -> None:
            plan = rewrite(graph)
            pipeline = move_ids(graph)
            record(plan, pipeline)
            assert (len(plan.tables), len(pipeline.moved)) == (tables, tables)

        return _lines(rewritten)


@pytest.mark.soak
@pytest.mark.parametrize("optimizer", ["Adagrad", "Adam"])
def test_the_work_for_a_table_does_not_depend_on_how_many_there_are(optimizer: str) -> None:
    few, more, most = (_work(tables, optimizer) for tables in (8, 16, 24))
    assert most - more <= 1.001 * (more - few)
