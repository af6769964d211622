"""Random DAGs with random lookups: rewritten, they give equal fetches, in training too."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rewriter import rewrite

v1 = tf.compat.v1
ROWS, DIM, STEPS = 20, 3, 3

_UNARY = {"tanh": tf.tanh, "negative": tf.negative, "identity": tf.identity, "square": tf.square}
_BINARY = {"add": tf.add, "subtract": tf.subtract, "maximum": tf.maximum, "multiply": tf.multiply}


@dataclass(frozen=True)
class Program:
    """A DAG: tables by the type of their variable, lookups (table, which ids, how), ops over earlier tensors."""

    resources: tuple[bool, ...]
    lookups: tuple[tuple[int, int, str], ...]
    ops: tuple[tuple[str, int, int], ...]
    waits: tuple[int, ...]
    optimizer: str


@st.composite
def programs(draw: st.DrawFn) -> Program:
    tables = draw(st.integers(1, 3))
    pick = st.integers(0, 100)
    return Program(
        tuple(draw(st.lists(st.booleans(), min_size=tables, max_size=tables))),
        tuple(
            draw(
                st.lists(
                    st.tuples(st.integers(0, tables - 1), st.integers(0, 1), st.sampled_from(["lookup", "gather"])),
                    min_size=1,
                    max_size=4,
                )
            )
        ),
        tuple(draw(st.lists(st.tuples(st.sampled_from([*_UNARY, *_BINARY]), pick, pick), max_size=12))),
        tuple(draw(st.lists(pick, max_size=3))),
        draw(st.sampled_from(["none", "sgd", "adagrad", "adam"])),
    )


def _build(program: Program) -> tuple[list[Any], list[Any], Any]:
    """Return the placeholders of ids, all tensors of the DAG, and a train op or None."""
    v1.set_random_seed(1)
    ids = [v1.placeholder(tf.int64, [4], f"ids_{i}") for i in range(2)]
    starts = v1.random_uniform_initializer(-1, 1)
    tables = [
        v1.get_variable(f"table_{i}", [ROWS, DIM], initializer=starts, use_resource=kind)
        for i, kind in enumerate(program.resources)
    ]
    how = {"lookup": v1.nn.embedding_lookup, "gather": tf.gather}
    # The gather of a resource variable is the one tensor that can be fetched no more: test_refusals has its message.
    gathers = [how[form](tables[table], ids[which]) for table, which, form in program.lookups]
    tensors = [tf.identity(one) for one in gathers]
    gathers = [one for one in gathers if one.op.type != "ResourceGather"]
    for number, (name, one, other) in enumerate(program.ops):
        inputs = [tensors[one % len(tensors)], tensors[other % len(tensors)]]
        wait = [tensors[pick % len(tensors)].op for pick in program.waits if pick % 12 == number]
        with tf.control_dependencies(wait):
            made = _UNARY[name](inputs[0]) if name in _UNARY else _BINARY[name](*inputs)
        tensors.append(tf.clip_by_value(made, -2.0, 2.0))
    if program.optimizer == "none":
        return ids, tensors + gathers, None
    rules = {"sgd": v1.train.GradientDescentOptimizer, "adagrad": v1.train.AdagradOptimizer}
    rule = rules.get(program.optimizer, v1.train.AdamOptimizer)(0.05)
    return ids, tensors + gathers, rule.minimize(tf.add_n([tf.reduce_sum(one) for one in tensors]))


def _fetched(program: Program, moved: bool) -> list[Any]:
    with tf.Graph().as_default() as graph:
        ids, tensors, train = _build(program)
        if moved:
            plan = rewrite(graph)
            assert not plan.refusals, plan.summary()
            assert {table.name for table in plan.tables} == {f"table_{table}" for table, *_ in program.lookups}
        random, found = np.random.default_rng(0), []
        with v1.Session() as session:
            session.run(v1.global_variables_initializer())
            for _ in range(STEPS):
                feeds = {one: random.integers(0, ROWS, 4) for one in ids}
                found += session.run(tensors, feeds)
                if train is not None:
                    session.run(train, feeds)
        return found


@settings(max_examples=25, deadline=None)
@given(programs())
def test_a_rewritten_graph_gives_equal_fetches(program: Program) -> None:
    for stock, moved in zip(_fetched(program, False), _fetched(program, True), strict=True):
        np.testing.assert_allclose(moved, stock, rtol=1e-5, atol=1e-5)
