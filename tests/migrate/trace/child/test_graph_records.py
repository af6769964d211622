"""What is recorded of graphs, beside what the rewriter finds in the same ones."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf
from tensorflow.python.autograph.impl import api
from tensorflow.python.eager.polymorphic_function import atomic_function
from tensorflow.python.framework import function, ops

from migrate.trace.child import graphs
from migrate.trace.child.graph_records import GraphRecords
from migrate.trace.child.program import Program
from migrate.trace.child.stacks import Stacks
from migrate.trace.child.state import Notes
from rewriter.analysis.candidates import find_tables
from rewriter.graph.view import GraphView

v1 = tf.compat.v1
Variables = dict[str, dict[str, Any]]


@pytest.fixture
def notes(monkeypatch: pytest.MonkeyPatch) -> Notes:
    """TensorFlow tells of graphs and functions while the test runs."""
    patched = [(api, "_convert_actual"), (atomic_function, "from_func_graph"), (ops.Graph, "__init__")]
    for owner, name in [*patched, (function._DefinedFunction, "_create_definition_if_needed")]:
        monkeypatch.setattr(owner, name, vars(owner)[name])
    noted = Notes()
    graphs.install(noted)
    return noted


def recorded(notes: Notes, graph: tf.Graph, fetches: tuple[str, ...] = ()) -> Variables:
    notes.of(graph).fetches.update(dict.fromkeys(fetches))
    stacks = Stacks(Program(str(Path(__file__).parent)), {})
    with tempfile.TemporaryDirectory() as folder:
        found = GraphRecords(notes, stacks, folder).all()
    return {one["name"]: one for graph in found for one in graph["variables"]}


def uses(variable: dict[str, Any], kind: str) -> set[str]:
    return {use["op"] for use in variable["uses"] if use["kind"] == kind}


def table(resource: bool = True, name: str = "table") -> Any:
    return v1.get_variable(name, [20, 4], use_resource=resource, initializer=v1.random_normal_initializer())


def lookup(resource: bool) -> None:
    rows = tf.nn.embedding_lookup(table(resource), [1, 2])
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))


def adam(resource: bool) -> None:
    rows = tf.nn.embedding_lookup(table(resource), [1, 2])
    v1.train.AdamOptimizer(0.1).minimize(tf.reduce_sum(rows))
    v1.train.Saver()


def partitioned(resource: bool) -> None:
    weights = v1.get_variable("table", [20, 4], partitioner=v1.fixed_size_partitioner(2), use_resource=resource)
    rows = tf.nn.embedding_lookup(weights, [1, 2])
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))


def scores(resource: bool) -> None:
    weights = table(resource)
    rows = tf.nn.embedding_lookup(weights, [1, 2])
    v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
    tf.matmul(rows, weights, transpose_b=True)


GRAPHS = [(build, resource) for build in (lookup, adam, partitioned, scores) for resource in (True, False)]


@pytest.mark.parametrize(("build", "resource"), GRAPHS)
def test_a_table_of_the_rewriter_is_looked_up_and_updated(
    build: Callable[[bool], None], resource: bool, notes: Notes
) -> None:
    """Its uses of the whole variable are those that the rewriter names, and its lookups are the rewriter's."""
    with tf.Graph().as_default() as graph:
        build(resource)
    tables, refusals = find_tables(GraphView.of(graph))
    assert tables, refusals
    found = recorded(notes, graph)
    for one in tables:
        parts = [found[part.name] for part in one.pieces]
        plain = {use["name"] for part in parts for use in part["uses"] if use["kind"] == "lookup"}
        assert plain == {op for each in one.lookups for op in (each.gathers or (each.op,))}
        named = {read.op for read in one.reads} | {op for update in one.updates for op in update.arithmetic}
        assert {use["name"] for part in parts for use in part["uses"] if use["kind"] == "whole"} <= named
        assert all(uses(part, "update") | uses(part, "assign") for part in parts)


@pytest.mark.parametrize("resource", [True, False])
def test_a_lookup_in_a_branch_is_one(resource: bool, notes: Notes) -> None:
    """Its gradient, a function too, asks for the variable's shape alone."""
    with tf.Graph().as_default() as graph:
        weights, yes = table(resource), v1.placeholder(tf.bool, [])
        rows = tf.cond(yes, lambda: tf.nn.embedding_lookup(weights, [1]), lambda: tf.zeros([1, 4]))
        v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_sum(rows))
    found = recorded(notes, graph)["table"]
    assert uses(found, "lookup") == {"ResourceGather" if resource else "GatherV2"}
    assert not uses(found, "whole") and uses(found, "update")


def dense(weights: Any) -> Any:
    return tf.matmul(tf.ones([1, 20]), weights)


def norm(weights: Any) -> Any:
    return tf.nn.l2_loss(weights)


def another_axis(weights: Any) -> Any:
    return tf.gather(tf.identity(weights), [1], axis=1)


def as_ids(weights: Any) -> Any:
    return tf.gather(tf.range(9.0), tf.cast(weights, tf.int64))


def in_a_loop(weights: Any) -> Any:
    return tf.while_loop(lambda at, _: at < 3, lambda at, sum_: (at + 1, sum_ + tf.reduce_sum(weights)), (0, 0.0))


def in_a_function(weights: Any) -> Any:
    return tf.function(lambda: tf.reduce_sum(weights))()


WHOLE = [
    *((dense, "MatMul"), (norm, "L2Loss"), (another_axis, "GatherV2"), (as_ids, "Cast")),
    *((in_a_loop, "Sum"), (in_a_function, "Sum")),
]


@pytest.mark.parametrize("resource", [True, False])
@pytest.mark.parametrize(("use", "kind"), WHOLE)
def test_any_other_read_is_one_of_the_whole(use: Callable[[Any], Any], kind: str, resource: bool, notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        use(table(resource))
    assert uses(recorded(notes, graph)["table"], "whole") == {kind}


def test_a_read_without_a_user_is_a_use_if_it_is_fetched(notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        read = tf.identity(table(), name="mine")
        table(name="other").read_value()
    assert not uses(recorded(notes, graph)["table"], "whole")
    assert uses(recorded(notes, graph, (read.name,))["table"], "whole") == {"Identity"}
    assert not uses(recorded(notes, graph, (read.name,))["other"], "whole")


def test_a_reference_that_is_fetched_and_one_that_is_fed(notes: Notes) -> None:
    """Variables without resources have no read of their own: sessions take and give their values by the variable."""
    with tf.Graph().as_default() as graph:
        table(resource=False)
    assert not uses(recorded(notes, graph)["table"], "whole")
    assert uses(recorded(notes, graph, ("table:0",))["table"], "whole") == {"VariableV2"}
    notes.of(graph).feeds["table:0"] = None
    assert uses(recorded(notes, graph)["table"], "assign") == {"Assign", "feed"}


@pytest.mark.parametrize("many", [1, 900])
def test_a_fetch_counts_after_many_others(many: int, notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        table(resource=False)
    fetches = (*(f"c{number}:0" for number in range(many)), "table:0")
    assert uses(recorded(notes, graph, fetches)["table"], "whole") == {"VariableV2"}


def test_what_code_of_no_framework_does_is_told(notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        weights = table()
        exec("tf.gather(weights, [1])")
        tf.reduce_sum(weights)
    found = recorded(notes, graph)["table"]["uses"]
    assert {use["op"]: use["through"] for use in found if use["kind"] in ("lookup", "whole")} == {
        "ResourceGather": "<string>",
        "Sum": "",
    }


def test_the_collections_of_a_variable(notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        v1.get_variable("table", [2, 2])
        v1.get_collection_ref("mine").append(v1.trainable_variables()[0])
    assert recorded(notes, graph)["table"]["collections"] == ["mine", "trainable_variables", "variables"]


@pytest.mark.parametrize("resource", [True, False])
def test_what_a_saver_restores_is_told_from_what_a_program_sets_below_its_name(resource: bool, notes: Notes) -> None:
    with tf.Graph().as_default() as graph:
        variable = table(resource)
        v1.train.Saver()
        with tf.name_scope("save"):
            v1.assign(variable, tf.zeros([20, 4]))
    names = {use["name"]: use["kind"] for use in recorded(notes, graph)["table"]["uses"] if "Assign" in use["op"]}
    first, other = ("AssignVariableOp", "Assign") if resource else ("Assign", "Assign")
    own = "save_1/AssignVariableOp" if resource else "save_1/Assign"
    assert names == {f"table/{other}": "assign", f"save/{first}": "save", own: "assign"}
