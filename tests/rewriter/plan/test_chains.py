"""What else reads ids that give up their buckets: it reads buckets as before, while lookups and steps read wide ids."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter
from tests.support.rewriter.bucketed import BATCHES, BUCKETS, DIM, MATRIX, SETTINGS, TEXTS, buckets_of, hashed, known
from tests.support.rewriter.bucketed import divided as remainder

v1 = tf.compat.v1
#: Gets the variable's name, the ids to look up, and the buckets; returns rows and what a session fetches besides.
Form = Callable[[Any, Any, Any], tuple[Any, list[Any]]]


def table(matrix: Any, name: str = "table", resource: bool = False) -> Any:
    return v1.get_variable(name, initializer=matrix, use_resource=resource)


def counted(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    different, places = tf.unique(ids)
    rows = tf.gather(tf.nn.embedding_lookup(table(matrix), different), places)
    return rows, [ids, different, places, tf.size(different), tf.cast(tf.size(different), tf.float32)]


def shaped(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    """Shapes and factors are computed of how many different ids there are."""
    different, places = tf.unique(tf.reshape(tf.expand_dims(ids, 1), [-1]))
    count = tf.size(different)
    rows = tf.reshape(tf.nn.embedding_lookup(table(matrix), different), [count, DIM])
    weight = tf.cast(tf.size(tf.unique(buckets).y), tf.float32)
    return tf.gather(rows * tf.ones(tf.stack([count, 1])), places) / weight, [different, count]


def weighted(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    """The number of different ids is a weight, by which no row is read."""
    different, places = tf.unique(ids)
    weight = tf.cast(tf.size(tf.unique(buckets).y if ids is not buckets else different), tf.float32)
    return tf.gather(tf.nn.embedding_lookup(table(matrix), different), places) / weight, [weight]


def valued(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    """Buckets are a feature, and mask rows."""
    rows = tf.nn.embedding_lookup(table(matrix), ids) * tf.cast(tf.not_equal(buckets, 3), tf.float32)[:, None]
    return rows * tf.cast(buckets, tf.float32)[:, None], [tf.one_hot(ids, BUCKETS), tf.reshape(ids, [-1, 1])]


def chosen(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    """Buckets choose the samples."""
    picked = tf.where(buckets > 2)[:, 0]
    return tf.nn.embedding_lookup(table(matrix, resource=True), tf.gather(ids, picked)), [tf.gather(ids, picked)]


def bounded(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    most = BUCKETS - 1 if ids is buckets else len(TEXTS) - 1
    cut = tf.clip_by_value(ids, 0, most)
    return tf.nn.embedding_lookup(table(matrix), cut), [cut]


def beside_others(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    """Other variables are looked up by the same buckets: one that stays, and one that has more rows."""
    stays = v1.get_variable("float64", initializer=np.arange(BUCKETS, dtype=np.float64)[:, None])
    more = table(np.concatenate([matrix, MATRIX]), "more")
    rows = tf.nn.embedding_lookup(table(matrix), ids) + 2 * tf.nn.embedding_lookup(more, ids)
    return rows * tf.cast(tf.nn.embedding_lookup(stays, buckets), tf.float32), [ids]


def pooled(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    rows = tf.range(tf.shape(ids, tf.int64)[0])
    sparse = tf.SparseTensor(tf.stack([rows // 2, rows], 1), ids, [20, 40])
    variable = table(matrix)
    both = [v1.nn.embedding_lookup_sparse(variable, sparse, None, combiner=one) for one in ("mean", "sqrtn")]
    return both[0] + both[1], [sparse.values]


FORMS: dict[str, tuple[Form, Any]] = {
    "counted": (counted, hashed),
    "shaped": (shaped, hashed),
    "weighted": (weighted, hashed),
    "valued": (valued, hashed),
    "chosen": (chosen, remainder),
    "bounded": (bounded, remainder),
    "beside others": (beside_others, hashed),
    "pooled": (pooled, hashed),
}


def run(form: Form, ids: Any, divide: Any, matrix: Any, free: bool = False) -> tuple[list[Any], list[float], list[Any]]:
    """Return what a session fetches at first, the losses of steps, and what is said of tables."""
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None])
        buckets = divide(words)
        rows, others = form(matrix, buckets if ids is divide else ids(words), buckets)
        loss = tf.reduce_mean((rows - 1) ** 2)
        step = v1.train.AdagradOptimizer(0.1).minimize(loss)
        tables = rewriter.rewrite(settings=SETTINGS).tables if free else ()
        session.run(v1.global_variables_initializer())
        first = session.run([rows, loss, buckets, *others], {words: TEXTS[BATCHES[0]]})
        losses = [float(session.run([loss, step], {words: TEXTS[batch]})[0]) for batch in BATCHES]
        return first, losses, [one.buckets_kept or one.buckets for one in tables]


@pytest.mark.parametrize(("form", "divide"), FORMS.values(), ids=FORMS)
def test_everybody_else_reads_the_buckets(form: Form, divide: Any) -> None:
    buckets = buckets_of({hashed: "fast", remainder: "remainder"}[divide])
    stock, _, _ = run(form, divide, divide, MATRIX)
    _, want, _ = run(form, known, divide, MATRIX[buckets])
    first, losses, said = run(form, divide, divide, MATRIX, free=True)
    assert said and not any(isinstance(one, str) for one in said), said
    for one, other in zip(first, stock, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(losses, want, rtol=1e-5)


def cast(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    return tf.nn.embedding_lookup(table(matrix), tf.cast(tf.cast(ids, tf.float32) + 0.0, tf.int64)), []


def narrow(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    return tf.nn.embedding_lookup(table(matrix), tf.cast(ids, tf.int32)), []


def cut_off(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    return tf.nn.embedding_lookup(table(matrix), tf.minimum(ids, 5)), []


def different_and_valued(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    different, places = tf.unique(ids)
    rows = tf.nn.embedding_lookup(table(matrix), different) * tf.cast(different, tf.float32)[:, None]
    return tf.gather(rows, places), [different]


def different_and_beside_others(matrix: Any, ids: Any, buckets: Any) -> tuple[Any, list[Any]]:
    different, places = tf.unique(ids)
    stays = v1.get_variable("float64", initializer=MATRIX.astype(np.float64))
    rows = [tf.nn.embedding_lookup(one, different) for one in (table(matrix), stays)]
    return tf.gather(tf.concat([rows[0], tf.cast(rows[1], tf.float32)], 1), places), [different]


KEPT: dict[str, tuple[Form, str]] = {
    "numbers with a fraction": (cast, "`Cast_1` makes its ids float32, which is exact for small ids alone"),
    "32 bits": (narrow, "`Cast` casts its ids to 32 bits, too few for ids without buckets: look them up as tf.int64"),
    "rows that a bound cuts": (cut_off, "`Minimum` (Minimum) keeps its ids below its number of rows"),
    "values of different ids": (different_and_valued, "are also read by `Cast` (Cast)"),
    "a variable that stays": (different_and_beside_others, "the buckets of `StringToHashBucketFast` are also read by"),
}


@pytest.mark.parametrize(("form", "reason"), KEPT.values(), ids=KEPT)
def test_what_needs_the_buckets_keeps_them(form: Form, reason: str) -> None:
    stock, want, _ = run(form, hashed, hashed, MATRIX)
    first, losses, (said,) = run(form, hashed, hashed, MATRIX, free=True)
    assert reason in said
    for one, other in zip(first, stock, strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_allclose(losses, want, rtol=1e-5)


@pytest.mark.parametrize("installed", [True, False])
def test_fed_buckets_are_ids(installed: bool) -> None:
    """A bucket is a wide id, too, which begins as its row; where nobody could pass it on, feeding it is an error."""
    ours = rewriter.install(settings=SETTINGS) if installed else None
    with tf.Graph().as_default(), v1.Session() as session:
        words = v1.placeholder(tf.string, [None])
        shaped_ids = tf.reshape(ids := hashed(words), [-1])
        rows = tf.nn.embedding_lookup(table(MATRIX), shaped_ids)
        step = v1.train.AdagradOptimizer(0.1).minimize(tf.reduce_mean((rows - 1) ** 2))
        if ours is None:
            rewriter.rewrite(settings=SETTINGS)
        session.run(v1.global_variables_initializer())
        for fed in (ids, shaped_ids):
            if ours is None:
                with pytest.raises(ValueError, match="may not be fed"):
                    session.run(rows, {fed: [3, 5]})
            else:
                np.testing.assert_array_equal(session.run([rows, step], {fed: [3, 5]})[0].shape, [2, DIM])
        if ours is not None:
            np.testing.assert_array_equal(session.run(rows, {shaped_ids: [4, 6]}), MATRIX[[4, 6]])
            ours.remove()
