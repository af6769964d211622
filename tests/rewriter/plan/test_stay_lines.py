"""What stays is said once for each reason."""

from __future__ import annotations

import logging

import pytest
import tensorflow as tf

from rewriter import GraphModifierHook
from rewriter.facts import Refusal
from rewriter.plan.stay_lines import stay_lines

v1 = tf.compat.v1


def test_equal_reasons_are_one_line() -> None:
    found = stay_lines(
        [
            *(Refusal(f"t{number}", f"`step_{number}` writes it", (f"t{number}",)) for number in range(7)),
            Refusal("other", "its type is float64", source="model.py:3"),
        ]
    )
    assert found == [
        "`t0`, `t1`, `t2`, `t3`, `t4` and 2 more stay variables: `step_0` writes it (t0)",
        "`other` stays a variable: its type is float64, built at model.py:3",
    ]


@pytest.mark.parametrize("moved", [True, False])
def test_the_hook_warns_once_of_what_stays(moved: bool, graph: tf.Graph, caplog: pytest.LogCaptureFixture) -> None:
    ids = v1.placeholder(tf.int64, [None])
    names = ["a", "b", "c"]
    kinds = dict.fromkeys(names, tf.float64) | ({"user": tf.float32} if moved else {})
    for name, kind in kinds.items():
        v1.nn.embedding_lookup(v1.get_variable(name, [10, 4], kind), ids)
    with caplog.at_level(logging.INFO, "rewriter"):
        GraphModifierHook().begin()
    said = [(one.levelno, one.getMessage()) for one in caplog.records if "variable" in one.getMessage()]
    assert len(said) == 1 and said[0][0] == logging.WARNING
    assert said[0][1].startswith("`a`, `b`, `c` stay variables: its type is float64")
