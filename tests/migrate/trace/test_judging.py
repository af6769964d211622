"""Verdicts on the variables of recorded graphs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from migrate.trace.judging import judged
from migrate.trace.record import GraphRecord, Record, Use, Variable

v1 = tf.compat.v1


@pytest.mark.parametrize(("whole", "moves"), [(lambda table: table * 2.0, True), (tf.transpose, False)])
def test_lookups_in_what_is_computed_of_a_variable(whole: Callable[[Any], Any], moves: bool, tmp_path: Path) -> None:
    with tf.Graph().as_default() as graph:
        table = v1.get_variable("user", [9, 4])
        ids = v1.placeholder(tf.int64, [None])
        v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(tf.gather(whole(table), ids) ** 2))
        v1.train.export_meta_graph(str(tmp_path / "g.meta"), graph=graph)
    found = Variable("user", (9, 4), "float32", (), (Use("Mul", "mul", ()),))
    record = Record((), "", 1, "", "", {}, {}, (GraphRecord((found,), "g.meta"),))
    [graph_record] = judged(record, tmp_path).graphs
    [variable] = graph_record.variables
    assert variable.table == ("user" if moves else "") and bool(variable.stays) is not moves
    assert graph_record.growth == (("`user` can grow: each new id gets a row",) if moves else ())
