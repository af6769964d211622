"""What a plan says: bounds of ids, buckets that tables share, regions to draw, variables that stay."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import tensorflow as tf

from rewriter import GraphModifierHook, rewrite
from rewriter.analysis.candidates import find_tables
from rewriter.facts import Refusal, Table
from rewriter.graph.view import GraphView
from rewriter.plan.datasets import find_wide
from rewriter.plan.growth_lines import bound_of, growth_lines
from rewriter.plan.lines import stay_lines
from rewriter.plan.region import ADDED, KEPT, REMOVED, Region
from tests.support.rewriter.models import build

v1 = tf.compat.v1
ROWS = 6


def words() -> Any:
    return v1.placeholder(tf.string, [None])


def numbers() -> Any:
    return v1.placeholder(tf.int64, [None])


def hashed() -> Any:
    return tf.strings.to_hash_bucket_fast(words(), ROWS)


def with_oov() -> Any:
    known = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    return tf.lookup.StaticVocabularyTable(known, ROWS - 2).lookup(words())


def dataset(buckets: int) -> Any:
    data = tf.data.Dataset.from_tensors(["a"]).map(lambda word: tf.strings.to_hash_bucket_fast(word, buckets))
    return v1.data.make_one_shot_iterator(data).get_next()


WAYS: dict[str, tuple[Callable[[], Any], str]] = {
    "fed": (numbers, ""),
    "computed": (lambda: tf.maximum(tf.reshape(numbers(), [-1]) * 2 - 1, 0), ""),
    "hashed": (hashed, "buckets"),
    "divided": (lambda: numbers() % ROWS, "buckets"),
    "of fewer buckets": (lambda: tf.strings.to_hash_bucket_strong(words(), ROWS - 1, [1, 2]) + 1, "buckets"),
    "words and buckets": (with_oov, "vocabulary"),
    "clipped": (lambda: tf.clip_by_value(numbers(), 0, ROWS - 1), "range"),
    "boundaries": (lambda: tf.raw_ops.Bucketize(input=v1.placeholder(tf.float32, [None]), boundaries=[1.0]), "range"),
    "replaced": (lambda: tf.where((ids := numbers()) >= tf.cast(ROWS, tf.int64), tf.zeros_like(ids), ids), "range"),
    "constant": (lambda: tf.constant([1, 2]), "range"),
    "a dataset's": (lambda: dataset(ROWS), "dataset"),
    "raw from a dataset": (lambda: dataset(2**40), ""),
    "python": (lambda: tf.reshape(tf.numpy_function(abs, [numbers()], tf.int64), [-1]), "unknown"),
    "of two": (lambda: tf.concat([hashed(), numbers()], 0), ""),
}


def judged(graph: tf.Graph) -> tuple[Table, ...]:
    return rewrite(graph, dry_run=True).tables


@pytest.mark.parametrize(("ids_of", "by"), WAYS.values(), ids=WAYS)
def test_what_bounds_ids(ids_of: Callable[[], Any], by: str, graph: tf.Graph) -> None:
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2]), ids_of())
    (table,) = judged(graph)
    assert table.bound.by == by
    assert bool(bound_of(table)) is (by not in ("", "unknown"))


@pytest.mark.parametrize("default", [None, 0])
def test_columns(default: int | None, graph: tf.Graph) -> None:
    """Numbers beyond an identity's rows are errors in the data, unless they all become one."""
    fc = tf.feature_column
    columns = [
        fc.categorical_column_with_identity("id", ROWS, default_value=default),
        fc.categorical_column_with_hash_bucket("word", ROWS),
        fc.crossed_column(["id", "word"], ROWS),
        fc.categorical_column_with_vocabulary_list("known", ["a", "b"]),
    ]
    features = {"id": numbers(), "word": words(), "known": words()}
    v1.feature_column.input_layer(features, [fc.embedding_column(one, 2) for one in columns])
    bounds = {table.name.split("/")[1]: table.bound.by for table in judged(graph)}
    assert bounds == {
        "id_embedding": "" if default is None else "range",
        "word_embedding": "buckets",
        "id_X_word_embedding": "buckets",
        "known_embedding": "vocabulary",
    }


def test_a_sentence_for_each_bound(graph: tf.Graph) -> None:
    ids = {f"h{number}": hashed() for number in range(7)} | {"fed": numbers(), "more": hashed() * 2}
    for name, one in ids.items():
        tf.nn.embedding_lookup(v1.get_variable(name, [ROWS, 2]), one)
    assert growth_lines(judged(graph)) == [
        "`h0`, `h1`, `h2`, `h3`, `h4` and 2 more cannot grow: ids are hashed or divided into buckets; with the "
        "setting `unbucket: true` in a file for `migrate run --settings`, each id gets a row of its own",
        "`fed` can grow: each new id gets a row, if the rest of the model takes it",
        "`more` cannot grow: ids are hashed or divided into buckets, and `unbucket` cannot give them rows of their "
        "own, because its ids come out of `mul` (Mul), which does not show whether they are numbers of buckets",
    ]


def test_a_table_that_gave_up_its_buckets_grows(graph: tf.Graph) -> None:
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2], use_resource=False), hashed())
    (table,) = rewrite(graph, settings={"*": {"unbucket": True}}).tables
    assert (table.bound.by, growth_lines([table])) == (
        "",
        ["`t` can grow: each new id gets a row, if the rest of the model takes it"],
    )


def chained_in_dataset() -> Any:
    data = tf.data.Dataset.from_tensor_slices(v1.placeholder(tf.int64, [9])).map(lambda x: (x % (2 * ROWS)) % ROWS)
    return v1.data.make_initializable_iterator(data.batch(9)).get_next()


#: Ids that are bounded before they are divided into the rows.
CHAINED = {
    "two remainders": lambda: (numbers() % (2 * ROWS)) % ROWS,
    "a hash of no multiple": lambda: tf.strings.to_hash_bucket_fast(words(), 1000) % ROWS,
    "three": lambda: ((numbers() % 90) % (3 * ROWS)) % ROWS,
    "in a dataset": chained_in_dataset,
}


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry", "applied"])
@pytest.mark.parametrize("way", CHAINED)
def test_what_still_bounds_a_table_that_gave_up_its_buckets(way: str, dry_run: bool, graph: tf.Graph) -> None:
    """The hash before the remainder has not a thousand times as many results as there are rows."""
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2], use_resource=False), CHAINED[way]())
    (table,) = rewrite(graph, settings={"*": {"unbucket": True}}, dry_run=dry_run).tables
    assert table.settings.unbucket and (table.bound.by, table.bound.frees) == ("buckets", False)
    assert growth_lines([table]) == ["`t` cannot grow: ids are hashed or divided into buckets"]


@pytest.mark.parametrize("way", CHAINED)
def test_unbucket_is_not_said_to_give_each_id_a_row_where_it_does_not(way: str, graph: tf.Graph) -> None:
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2], use_resource=False), CHAINED[way]())
    (line,) = growth_lines(judged(graph))
    assert "into buckets, and `unbucket` cannot give them rows of their own, because `" in line and line.endswith(
        "bounds them before that"
    )


@pytest.mark.parametrize("dry_run", [True, False], ids=["dry", "applied"])
def test_bounds_that_all_rows_pass_are_none_of_wide_ids(dry_run: bool, graph: tf.Graph) -> None:
    ids = numbers() % ROWS
    passed = tf.where(tf.minimum(ids, ROWS) >= tf.cast(ROWS, tf.int64), tf.zeros_like(ids), tf.minimum(ids, ROWS))
    tf.nn.embedding_lookup(v1.get_variable("t", [ROWS, 2], use_resource=False), passed)
    (table,) = rewrite(graph, settings={"*": {"unbucket": True}}, dry_run=dry_run).tables
    assert (table.settings.unbucket, table.bound.by) == (True, "")


BUCKETS = 6


def buckets_hashed() -> Any:
    return tf.strings.to_hash_bucket_fast(v1.placeholder(tf.string, [None]), BUCKETS)


def test_tables_of_one_size_read_what_they_share_once(monkeypatch: Any) -> None:
    asked = Counter[int]()
    for count in (8, 16):
        with tf.Graph().as_default() as graph:
            ids = buckets_hashed()
            for number in range(count):
                tf.nn.embedding_lookup(v1.get_variable(f"t{number}", [BUCKETS, 2]), ids)
        view = GraphView(graph.as_graph_def())
        tables, _ = find_tables(view, None, ())

        def uses(tensor: Any, view: GraphView = view, count: int = count) -> Any:
            asked[count] += 1
            return GraphView.uses(view, tensor)

        monkeypatch.setattr(view, "uses", uses)
        wide = find_wide(view, tables)
        assert len(wide.layouts) == count and not wide.kept
    assert asked[16] <= 2 * asked[8]


def test_ids_that_are_moved_by_too_many_numbers_keep_their_buckets(graph: tf.Graph) -> None:
    """Each subset of 40 numbers is another sum, of which a walk to the end would find 2 ** 40."""
    known = tf.lookup.KeyValueTensorInitializer(["a", "b"], tf.constant([0, 1], tf.int64))
    ids = tf.lookup.StaticHashTable(known, -1).lookup(v1.placeholder(tf.string, [None]))
    for bit in range(40):
        ids = tf.where(v1.placeholder(tf.bool, [None]), ids, ids + 2**bit)
    tf.nn.embedding_lookup(v1.get_variable("t", [100, 2]), ids)
    view = GraphView(graph.as_graph_def())
    tables, _ = find_tables(view, None, ())
    wide = find_wide(view, tables)
    assert not wide.layouts
    assert "more than 64 different numbers added" in wide.kept["t"]


def region_of(graph: tf.Graph, table: str) -> Region:
    (found,) = (region for region in rewrite(graph, dry_run=True).regions if region.table == table)
    return found


def arrows(region: Region, state: str) -> set[tuple[str, str]]:
    """Return the arrows of a state between the first ops of boxes."""
    return {
        (region.boxes[one.start].ops[0], region.boxes[one.end].ops[0]) for one in region.arrows if one.state == state
    }


def test_sgd_on_a_resource_variable(graph: tf.Graph) -> None:
    build("sgd")
    v1.global_variables_initializer()
    region = region_of(graph, "model/user")
    update = "GradientDescent/update_model/user/ResourceScatterAdd"
    dead = ["model/user/IsInitialized/VarIsInitializedOp", "model/user/Read/ReadVariableOp"]
    arithmetic = ["GradientDescent/update_model/user/Neg", "GradientDescent/update_model/user/mul"]
    removed = {op for op in region.ops(REMOVED) if op.split("/")[-1] not in ("Neg", "mul")}
    assert removed == {"model/user", *dead, "embedding_lookup", update, "model/user/Assign"}
    assert set(region.ops(REMOVED)) - removed <= set(arithmetic)
    assert region.ops(ADDED) == (
        "+model/user",
        "+model/user/lookup/0",
        "+model/user/update/0",
        "+model/user/initializer",
    )
    assert {"ids", "embedding_lookup/Identity", "model/user/Initializer/random_normal", "init"} < set(region.ops(KEPT))
    assert arrows(region, ADDED) >= {
        ("ids", "+model/user/lookup/0"),
        ("+model/user/lookup/0", "embedding_lookup/Identity"),
        ("+model/user/initializer", "init"),
    }
    assert arrows(region, REMOVED) >= {("ids", "embedding_lookup"), ("embedding_lookup", "embedding_lookup/Identity")}


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
