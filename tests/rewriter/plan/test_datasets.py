"""Datasets whose functions divide ids, and tables that keep their buckets."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

import rewriter

v1 = tf.compat.v1
BUCKETS, DIM, BATCH = 11, 4, 20
TEXTS = np.array([f"w{number}" for number in range(40)])
MATRIX = np.random.default_rng(1).normal(size=[BUCKETS, DIM]).astype(np.float32)
SETTINGS = {"*": {"unbucket": True}}
Ids = Callable[[Any], Any]


def number(words: Any) -> Any:
    """Return an id of its own for each word."""
    return tf.strings.to_number(tf.strings.substr(words, 1, 9), tf.int64)


def hashed(words: Any) -> Any:
    return tf.strings.to_hash_bucket_fast(words, BUCKETS)


def words() -> Any:
    return tf.data.Dataset.from_tensor_slices(TEXTS).repeat(4)


def mapped(ids: Ids) -> Any:
    dataset = words().map(lambda word: {"id": ids(word), "other": word}).shuffle(7, seed=1).batch(BATCH)
    return dataset.map(lambda one: one["id"]).prefetch(1)


def initializable(dataset: Any) -> Any:
    iterator = v1.data.make_initializable_iterator(dataset)
    return iterator.get_next(), iterator.initializer


def reinitializable(dataset: Any) -> Any:
    """An iterator of several datasets."""
    types, shapes = v1.data.get_output_types(dataset), v1.data.get_output_shapes(dataset)
    iterator = v1.data.Iterator.from_structure(types, shapes)
    iterator.make_initializer(dataset.take(1))
    return iterator.get_next(), iterator.make_initializer(dataset)


def trained(
    pipeline: Callable[[Any], Any], ids: Any, matrix: Any, begin: Any, settings: Any = None
) -> tuple[list[Any], str]:
    """Return the rows of the first step and the losses of all, and what was said."""
    with tf.Graph().as_default() as graph, v1.Session() as session:
        element, start = begin(pipeline(ids))
        table = v1.get_variable("table", initializer=matrix, use_resource=False)
        rows = tf.nn.embedding_lookup(table, element)
        loss = tf.reduce_mean((rows - 1) ** 2)
        step = v1.train.AdagradOptimizer(0.3).minimize(loss)
        said = rewriter.rewrite(graph, settings=settings).summary() if settings else ""
        session.run([v1.global_variables_initializer(), start])
        steps = [session.run([rows, loss, step])[:2] for _ in range(5)]
        return [steps[0][0], *(float(one) for _, one in steps)], said


def buckets_of(ids: Ids) -> Any:
    with tf.Graph().as_default(), v1.Session() as session:
        return np.asarray(session.run(ids(tf.constant(TEXTS))))


def test_an_iterator_of_several_datasets() -> None:
    (bucketed, *_), _ = trained(mapped, hashed, MATRIX, reinitializable)
    (_, *want), _ = trained(mapped, number, MATRIX[buckets_of(hashed)], reinitializable)
    (rows, *losses), said = trained(mapped, hashed, MATRIX, reinitializable, SETTINGS)
    assert "unbucket: True" in said, said
    np.testing.assert_array_equal(rows, bucketed)
    np.testing.assert_allclose(losses, want, rtol=1e-5)


def sparse(dataset: Any) -> Any:
    """Each element has a sparse column of ids, two in a row."""
    rows = tf.stack([tf.range(BATCH, dtype=tf.int64) // 2, tf.range(BATCH, dtype=tf.int64) % 2], 1)
    return dataset.map(lambda ids: tf.SparseTensor(rows, ids, [BATCH // 2, 2]))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("moved", [0, 3])
def test_what_else_reads_an_element_reads_buckets(moved: int, packed: bool) -> None:
    """Programs that know nothing of tables fetch them, too; `moved` is added before and behind the dataset."""
    steps: list[Any] = []
    for free, ids in ((False, hashed), (True, hashed), (False, number)):
        installed = rewriter.install(settings=SETTINGS) if free else None
        with tf.Graph().as_default(), v1.Session() as session:
            rows = np.concatenate([np.zeros([moved * 2, DIM], np.float32), MATRIX])
            matrix = rows if ids is hashed else rows[buckets_of(hashed) + 2 * moved]
            pipeline = mapped(lambda words, ids=ids: ids(words) + (moved if ids is hashed else 0))
            element, start = initializable(sparse(pipeline) if packed else pipeline)
            given = element.values if packed else element
            found = tf.nn.embedding_lookup(
                v1.get_variable("table", initializer=matrix), given + (moved if ids is hashed else 0)
            )
            step = v1.train.AdagradOptimizer(0.3).minimize(loss := tf.reduce_mean((found - 1) ** 2))
            fetches = [given, given * 2, found, loss, step]
            session.run([v1.global_variables_initializer(), start])
            steps.append([session.run(fetches)[:4] for _ in range(5)])
        if installed is not None:
            assert not installed.tables["table"].buckets_kept, installed.summary()
            installed.remove()
    bucketed, freed, want = steps
    for one, other in zip(bucketed, freed, strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])
    np.testing.assert_array_equal(bucketed[0][2], freed[0][2])
    np.testing.assert_allclose([one[3] for one in freed], [one[3] for one in want], rtol=1e-5)


def filtered(ids: Ids) -> Any:
    return words().map(ids).filter(lambda id: id > 2).batch(BATCH)


def vocabulary(buckets: int) -> Any:
    known = tf.lookup.KeyValueTensorInitializer(tf.constant(TEXTS[:6]), tf.range(6, dtype=tf.int64))
    return tf.lookup.StaticVocabularyTable(known, buckets)


@pytest.mark.parametrize(("buckets", "reason"), [(5, ""), (3, "to which no op can be added")])
def test_a_vocabulary_in_a_dataset(buckets: int, reason: str) -> None:
    """Where its buckets are not the last rows, wide ids would need a sum beside the hash."""

    def pipeline(ids: Any) -> Any:
        return words().map(ids or vocabulary(buckets).lookup).batch(BATCH)

    def begin(dataset: Any) -> Any:
        element, start = initializable(dataset)
        return element, [start, v1.tables_initializer()]

    narrow = vocabulary(buckets).lookup(tf.constant(TEXTS)).numpy()
    (rows, *losses), said = trained(pipeline, None, MATRIX, begin, SETTINGS)
    (_, *want), _ = trained(pipeline, None if reason else number, MATRIX if reason else MATRIX[narrow], begin)
    assert reason in said and ("keeps the buckets" in said) == bool(reason), said
    np.testing.assert_array_equal(rows, MATRIX[narrow[np.arange(BATCH)]])
    np.testing.assert_allclose(losses, want, rtol=1e-5)


def test_rows_of_free_ids_are_not_restored_where_buckets_are_looked_up(tmp_path: Path) -> None:
    """Its evaluation reads buckets that a filter needs, too: they have no rows in the checkpoint."""
    path = ""
    for pipeline in (mapped, filtered):
        with tf.Graph().as_default() as graph, v1.Session() as session:
            element, start = initializable(pipeline(hashed))
            table = v1.get_variable("table", initializer=MATRIX, use_resource=False)
            step = v1.train.AdagradOptimizer(0.3).minimize(tf.reduce_mean(tf.nn.embedding_lookup(table, element)))
            saver, begin = v1.train.Saver(), v1.global_variables_initializer()
            rewriter.rewrite(graph, settings=SETTINGS)
            session.run([begin, start])
            if path:
                with pytest.raises(tf.errors.InvalidArgumentError, match="are of single ids, in place of buckets"):
                    saver.restore(session, path)
            session.run(step)
            path = path or saver.save(session, str(tmp_path / "free"))


@pytest.mark.skipif(not hasattr(tf, "estimator"), reason="TensorFlow has no Estimator")
def test_an_estimator_trains_predicts_and_serves_free_ids(tmp_path: Path) -> None:
    """Its input function divides ids in the dataset, and so does what it serves, in the graph."""

    def model(features: Any, labels: Any, mode: str) -> Any:
        table = v1.get_variable("table", initializer=MATRIX, use_resource=False)
        rows = tf.reduce_sum(tf.nn.embedding_lookup(table, features["id"]), 1)
        predictions = {"rows": rows}
        if labels is None:
            return tf.estimator.EstimatorSpec(mode, predictions)
        loss = tf.reduce_mean((rows - labels) ** 2)
        step = v1.train.AdagradOptimizer(0.3).minimize(loss, v1.train.get_global_step())
        return tf.estimator.EstimatorSpec(mode, predictions, loss, step)

    def inputs(labels: bool = True) -> Any:
        ids = tf.data.Dataset.from_tensor_slices(TEXTS).map(lambda word: {"id": hashed(word)})
        values = tf.data.Dataset.from_tensor_slices(np.arange(40, dtype=np.float32))
        return (tf.data.Dataset.zip((ids, values)) if labels else ids).repeat(1 + labels).batch(BATCH)

    def served() -> Any:
        words = v1.placeholder(tf.string, [None])
        return tf.estimator.export.ServingInputReceiver({"id": hashed(words)}, words)

    def rows(hooks: Any) -> Any:
        return np.array([one["rows"] for one in estimator.predict(lambda: inputs(False), hooks=hooks)])

    estimator = tf.estimator.Estimator(model, str(tmp_path / "model"))
    estimator.train(inputs)
    before = rows([])
    hooks = [rewriter.GraphModifierHook(settings=SETTINGS)]
    np.testing.assert_array_equal(rows(hooks), before)
    estimator.train(inputs, hooks)
    after = rows(hooks)
    assert len(np.unique(before)) <= BUCKETS < len(np.unique(after))
    path = estimator.export_saved_model(str(tmp_path / "served"), served)
    with tf.Graph().as_default(), v1.Session() as session:
        loaded = v1.saved_model.load(session, ["serve"], path.decode())
        (signature,) = loaded.signature_def.values()
        given, result = (next(iter(part.values())).name for part in (signature.inputs, signature.outputs))
        np.testing.assert_array_equal(session.run(result, {given: TEXTS}), after)


def test_an_iterator_that_began_with_buckets_keeps_them() -> None:
    """A program that runs its graph before that is complete: the session holds the dataset with its functions."""
    installed = rewriter.install(settings=SETTINGS)
    try:
        with tf.Graph().as_default(), v1.Session() as session:
            element, start = initializable(mapped(hashed))
            session.run(start)
            table = v1.get_variable("table", initializer=MATRIX, use_resource=False)
            step = v1.train.AdagradOptimizer(0.3).minimize(tf.reduce_mean(tf.nn.embedding_lookup(table, element)))
            session.run(v1.global_variables_initializer())
            session.run([step, start])
            assert "a session has run `MakeIterator` already" in installed.tables["table"].buckets_kept
    finally:
        installed.remove()
