"""Which ops hand wide ids on to lookups, and what is said of those that do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from tests.support.rewriter.bucketed import (
    BATCHES,
    BUCKETS,
    MATRIX,
    SETTINGS,
    TEXTS,
    Model,
    hashed,
    known,
    moved,
    plainly,
    pooled,
)

v1 = tf.compat.v1


def twice(words: Any) -> Any:
    """Return the buckets of each word, side by side."""
    return hashed(tf.stack([words, words], 1))


def sparse(words: Any) -> Any:
    column = tf.sparse.from_dense(tf.expand_dims(words, 1))
    return tf.SparseTensor(column.indices, hashed(column.values), column.dense_shape)


def ragged(words: Any) -> Any:
    return tf.RaggedTensor.from_row_lengths(hashed(words), tf.ones([tf.size(words)], tf.int64))


#: Buckets that reach a lookup by other ops, one for each word.
FORMS: dict[str, Callable[[Any], Any]] = {
    "unpacked": lambda words: tf.unstack(twice(words), axis=1)[1],
    "split": lambda words: tf.split(twice(words), 2, axis=1)[1][:, 0],
    "split by sizes": lambda words: tf.split(twice(words), [1, 1], axis=1)[0][:, 0],
    "parts": lambda words: tf.dynamic_partition(hashed(words), tf.zeros_like(hashed(words), tf.int32), 2)[0],
    "reversed": lambda words: tf.reverse(tf.reverse(hashed(words), [0]), [0]),
    "padded": lambda words: tf.pad(hashed(words)[:, None], [[0, 0], [0, 1]])[:, 0],
    "padded with 3": lambda words: tf.pad(hashed(words)[:, None], [[0, 0], [0, 1]], constant_values=3)[:, 0],
    "repeated": lambda words: tf.broadcast_to(hashed(words)[:, None], [tf.size(words), 2])[:, 1],
    "made dense": lambda words: tf.sparse.to_dense(sparse(words))[:, 0],
    "a crossing layer's columns": lambda words: tf.keras.layers.HashedCrossing(BUCKETS)((words[:, None],) * 2)[:, 0],
    "ordered": lambda words: tf.sparse.reorder(sparse(words)).values,
    "joined": lambda words: tf.sparse.to_dense(tf.sparse.concat(1, [sparse(words), sparse(words)]))[:, 1],
    "cut": lambda words: tf.sparse.slice(sparse(words), [0, 0], [1000, 1]).values,
    "ragged": lambda words: ragged(words).to_tensor()[:, 0],
    "ragged made sparse": lambda words: ragged(words).to_sparse().values,
    "unsigned": lambda words: tf.cast(tf.cast(known(words) * 7, tf.uint64) % BUCKETS, tf.int64),
}


@pytest.mark.parametrize("look", [plainly, pooled])
@pytest.mark.parametrize("form", FORMS)
def test_ids_are_handed_on(form: str, look: Any) -> None:
    """Words train as in a graph where each has a row, which begins as that of its bucket."""
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None])
        buckets = session.run(FORMS[form](words), {words: TEXTS})
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(known, MATRIX[buckets], look)
        session.run(model.begin)
        want = model.train(session, BATCHES)
    with tf.Graph().as_default(), v1.Session() as session:
        model = Model(FORMS[form], MATRIX, look)
        plan = moved(model)
        assert plan.tables[0].buckets is not None, plan.tables[0].buckets_kept
        session.run(model.begin)
        np.testing.assert_array_equal(session.run(model.rows, {model.words: TEXTS}), MATRIX[buckets])
        np.testing.assert_array_equal(session.run(model.buckets, {model.words: TEXTS}), buckets)
        np.testing.assert_allclose(model.train(session, BATCHES), want, rtol=1e-5)


def fed_number() -> Any:
    return v1.placeholder_with_default(tf.constant(BUCKETS, tf.int64), [])


KEPT: dict[str, tuple[Callable[[Any], Any], str]] = {
    "32 bits": (
        lambda words: tf.cast(known(words), tf.int32) % BUCKETS,
        "(FloorMod) divides int32 ids, too few bits for ids without buckets: cast them to tf.int64 before",
    ),
    "negative buckets": (
        lambda words: known(words) % -BUCKETS + (BUCKETS - 1),
        "(FloorMod) divides ids by -11, which is no number of buckets: give a positive number",
    ),
    "a number of buckets that is fed": (
        lambda words: known(words) % fed_number(),
        "(FloorMod) divides ids by a number that the graph does not show: make the number of buckets a constant",
    ),
    "a truncated quotient": (
        lambda words: tf.truncatemod(known(words), BUCKETS),
        "(TruncateMod) gives negative ids negative rows: divide with tf.math.floormod",
    ),
    "arithmetic": (lambda words: hashed(words) * 1, "(Mul), which does not show whether they are numbers of buckets"),
    "what may be fed": (
        lambda words: v1.placeholder_with_default(hashed(words), [None]),
        "(PlaceholderWithDefault), which does not show whether they are numbers of buckets",
    ),
    "a function": (tf.function(hashed), "(PartitionedCall), which does not show whether they are numbers of buckets"),
}


@pytest.mark.parametrize(("ids_of", "reason"), KEPT.values(), ids=KEPT)
def test_other_ids_keep_their_buckets(ids_of: Any, reason: str, graph: tf.Graph) -> None:
    plainly(v1.get_variable("t", initializer=MATRIX), ids_of(v1.placeholder(tf.string, [None])))
    (table,) = rewriter.rewrite(graph, settings=SETTINGS).tables
    assert not table.settings.unbucket and reason in table.buckets_kept


def test_settings_of_no_variable(graph: tf.Graph) -> None:
    """A pattern may fit none; parts have the name of their variable."""
    ids = hashed(v1.placeholder(tf.string, [None]))
    split = v1.fixed_size_partitioner(1)
    plainly(v1.get_variable("t", [BUCKETS, 2], partitioner=split, use_resource=False), ids)
    for name in ("t", "user*"):
        rewriter.rewrite(graph, dry_run=True, settings={name: {"unbucket": True}})
    said = "settings of `user`: the graph has no such variable; give the name of one, or a pattern"
    for rewrite in (rewriter.rewrite, rewriter.modify_graph_and_start_emb_cache):
        with pytest.raises(ValueError, match=said):
            rewrite(graph, settings={"user": {"unbucket": True}})


def test_a_second_rewrite_leaves_what_gave_up_its_buckets(graph: tf.Graph) -> None:
    rows = plainly(v1.get_variable("t", initializer=MATRIX), hashed(v1.placeholder(tf.string, [None])))
    (table,) = rewriter.rewrite(graph, settings=SETTINGS).tables
    before = len(graph.get_operations()), rows.op.inputs[0].name
    assert table.settings.unbucket and not rewriter.rewrite(graph, settings={"t": {"unbucket": True}}).tables
    assert (len(graph.get_operations()), rows.op.inputs[0].name) == before
