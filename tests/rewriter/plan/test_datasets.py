"""Datasets whose functions divide ids, against stock graphs in which each word has a row from the start."""

from __future__ import annotations

from collections.abc import Callable, Iterator
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


def strongly(words: Any) -> Any:
    return tf.strings.to_hash_bucket_strong(words, BUCKETS, [3, 4])


def divided(words: Any) -> Any:
    return number(words) * 7 % BUCKETS


def crossed(words: Any) -> Any:
    column = tf.sparse.from_dense(tf.reshape(words, [-1, 1]))
    return tf.reshape(tf.sparse.cross_hashed([column, column], BUCKETS).values, tf.shape(words))


def words() -> Any:
    return tf.data.Dataset.from_tensor_slices(TEXTS).repeat(4)


def mapped(ids: Ids) -> Any:
    dataset = words().map(lambda word: {"id": ids(word), "other": word}).shuffle(7, seed=1).batch(BATCH)
    return dataset.map(lambda one: one["id"]).prefetch(1)


def flat_mapped(ids: Ids) -> Any:
    """A function makes a dataset of each file of words, with a function of its own that calls a third."""
    inner = tf.function(ids)
    files = words().batch(30)
    return files.flat_map(lambda some: tf.data.Dataset.from_tensor_slices(some).map(inner)).batch(BATCH)


def interleaved(ids: Ids) -> Any:
    files = words().batch(30)
    return files.interleave(
        lambda some: tf.data.Dataset.from_tensor_slices(some).batch(5).map(ids).unbatch(), num_parallel_calls=2
    ).padded_batch(BATCH, [])


def zipped(ids: Ids) -> Any:
    dataset = tf.data.Dataset.zip((words(), words().map(ids, num_parallel_calls=2).cache()))
    return (
        dataset.filter(lambda word, _: word != "w3")
        .map(lambda _, id: id)
        .take(100)
        .concatenate(words().map(ids))
        .batch(BATCH)
    )


def sliced(ids: Ids) -> Any:
    """The graph itself computes what a dataset divides into elements."""
    return tf.data.Dataset.from_tensor_slices(ids(tf.constant(TEXTS))).repeat(3).batch(BATCH)


def captured(ids: Ids) -> Any:
    known = ids(tf.constant(TEXTS))
    return tf.data.Dataset.range(120).map(lambda place: tf.gather(known, place % 40)).batch(BATCH)


def parsed(ids: Ids) -> Any:
    """Serialized examples with several words, as an Estimator reads them."""

    def example(word: bytes) -> Any:
        value = tf.train.Feature(bytes_list=tf.train.BytesList(value=[word, b"w3"]))
        return tf.train.Example(features=tf.train.Features(feature={"word": value})).SerializeToString()

    def parse(some: Any) -> Any:
        (column,) = tf.io.parse_example(some, {"word": tf.io.VarLenFeature(tf.string)}).values()
        return tf.SparseTensor(column.indices, ids(column.values), column.dense_shape)

    examples = tf.data.Dataset.from_tensor_slices([example(str(word).encode()) for word in TEXTS])
    return examples.repeat(3).batch(BATCH).map(parse)


PIPELINES = {one.__name__: one for one in (mapped, flat_mapped, interleaved, zipped, sliced, captured, parsed)}
WAYS = {one.__name__: one for one in (hashed, strongly, divided, crossed)}


def one_shot(dataset: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next(), tf.no_op()


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
        if isinstance(element, tf.SparseTensor):
            rows = v1.nn.embedding_lookup_sparse(table, element, None, combiner="sum")
        else:
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


def parts_from_buckets(pipeline: Callable[[Ids], Any], ids: Ids, begin: Any) -> None:
    (bucketed, *_), _ = trained(pipeline, ids, MATRIX, begin)
    (_, *want), _ = trained(pipeline, number, MATRIX[buckets_of(ids)], begin)
    (rows, *losses), said = trained(pipeline, ids, MATRIX, begin, SETTINGS)
    assert "unbucket: True" in said, said
    np.testing.assert_array_equal(rows, bucketed)
    np.testing.assert_allclose(losses, want, rtol=1e-5)


@pytest.mark.parametrize("begin", [initializable, one_shot], ids=lambda one: one.__name__)
@pytest.mark.parametrize("pipeline", PIPELINES.values(), ids=PIPELINES)
def test_datasets_give_wide_ids(pipeline: Callable[[Ids], Any], begin: Any) -> None:
    if begin is one_shot and pipeline in (sliced, captured):
        pytest.skip("its function holds all that the dataset is made of")
    parts_from_buckets(pipeline, hashed, begin)


@pytest.mark.parametrize("ids", WAYS.values(), ids=WAYS)
def test_each_way_to_divide(ids: Ids) -> None:
    parts_from_buckets(mapped, ids, initializable)


def test_an_iterator_of_several_datasets() -> None:
    parts_from_buckets(mapped, hashed, reinitializable)


def filtered(ids: Ids) -> Any:
    return words().map(ids).filter(lambda id: id > 2).batch(BATCH)


def cached(ids: Ids) -> Any:
    return words().map(ids).cache(next(FILES)).batch(BATCH)


def grouped(ids: Ids) -> Any:
    return (
        words()
        .map(ids)
        .apply(tf.data.experimental.group_by_window(lambda id: id, lambda _, some: some.batch(BATCH), BATCH))
    )


def narrowed(ids: Ids) -> Any:
    return words().map(lambda word: tf.cast(ids(word), tf.int32)).batch(BATCH)


def shifted(ids: Ids) -> Any:
    return words().map(lambda word: (ids(word) + 1) % 7).batch(BATCH)


def called_python(ids: Ids) -> Any:
    return (
        words()
        .map(lambda word: tf.ensure_shape(tf.numpy_function(lambda one: one, [ids(word)], tf.int64), []))
        .batch(BATCH)
    )


def vocabulary(buckets: int) -> Any:
    known = tf.lookup.KeyValueTensorInitializer(tf.constant(TEXTS[:6]), tf.range(6, dtype=tf.int64))
    return tf.lookup.StaticVocabularyTable(known, buckets)


@pytest.mark.parametrize(("buckets", "reason"), [(5, ""), (3, "to which an op would have to be added")])
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


FILES: Iterator[str] = iter(())
KEPT = {
    filtered: "`MapDataset → StringToHashBucketFast` are also read by `FilterDataset → Greater` (Greater)",
    cached: "`CacheDataset` caches elements in files, which may hold ids of before: cache before ids are divided",
    grouped: "its ids come out of `GroupByWindowDataset[0]` (GroupByWindowDataset), which divides nothing into buckets",
    narrowed: "`MapDataset → Cast` narrows the ids of `MapDataset → StringToHashBucketFast` to 32 bits",
    shifted: "`MapDataset → mod` is in a function of a dataset, to which an op would have to be added",
    called_python: "its ids come out of `MapDataset → PyFunc` (PyFunc), which divides nothing into buckets",
}


@pytest.mark.parametrize(("pipeline", "reason"), KEPT.items(), ids=[one.__name__ for one in KEPT])
def test_datasets_that_keep_buckets_train_as_before_and_say_why(
    pipeline: Callable[[Ids], Any], reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "FILES", iter([str(tmp_path / "one"), str(tmp_path / "two")]))
    (rows, *losses), _ = trained(pipeline, hashed, MATRIX, initializable)
    (same, *others), said = trained(pipeline, hashed, MATRIX, initializable, SETTINGS)
    assert "keeps the buckets of its ids" in said and reason in said, said
    np.testing.assert_array_equal(rows, same)
    np.testing.assert_allclose(losses, others, rtol=1e-5)


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
                with pytest.raises(tf.errors.InvalidArgumentError, match="are those of ids that gave up their buckets"):
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
