"""Finding the buckets of ids takes time in proportion to the graph."""

from __future__ import annotations

from collections import Counter
from typing import Any

import tensorflow as tf

from rewriter.analysis.candidates import find_tables
from rewriter.graph.view import GraphView
from rewriter.plan.buckets import find_buckets

v1 = tf.compat.v1
BUCKETS = 6


def hashed() -> Any:
    return tf.strings.to_hash_bucket_fast(v1.placeholder(tf.string, [None]), BUCKETS)


def test_tables_of_one_size_read_what_they_share_once(monkeypatch: Any) -> None:
    asked = Counter[int]()
    for count in (8, 16):
        with tf.Graph().as_default() as graph:
            ids = hashed()
            for number in range(count):
                tf.nn.embedding_lookup(v1.get_variable(f"t{number}", [BUCKETS, 2]), ids)
        view = GraphView(graph.as_graph_def())
        tables, _ = find_tables(view, None, ())

        def uses(tensor: Any, view: GraphView = view, count: int = count) -> Any:
            asked[count] += 1
            return GraphView.uses(view, tensor)

        monkeypatch.setattr(view, "uses", uses)
        ((one,), reasons) = find_buckets(view, tables, {})
        assert len(one.tables) == count and not reasons
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
    ops, reasons = find_buckets(view, tables, {})
    assert not ops
    assert "more than 64 different numbers added" in reasons["t"]
